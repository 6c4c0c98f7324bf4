// Members that mean different operations.
#include <chrono>
#include <cstddef>
#include <vector>

#include "group_conformance.h"

namespace phalanx::spi {
namespace {

using std::chrono::milliseconds;

constexpr uint8_t kData = 0;
constexpr uint8_t kOther = 2;

// An operation of all members, to begin with.
bool Meet(GroupTransport& group) {
  EXPECT_TRUE(group.Begin(GroupOperation()).ok());
  group.Raise(kData, 0);
  const bool met = AwaitEveryPeer(group, kData, 0);
  EXPECT_TRUE(group.End().ok());
  return met;
}

// Members that mean different operations read nothing of each other, and those that wait find it.
TEST_P(GroupConformance, AnotherCheckIsRefused) {
  Connect(2);
  RunMembers(groups_, [](GroupTransport& group) {
    ASSERT_TRUE(Meet(group));
    std::vector<std::byte> input(8, std::byte{1});
    GroupOperation operation;
    operation.sequence = 1;
    operation.input = input.data();
    operation.input_bytes = input.size();
    operation.check = 40 + static_cast<uint32_t>(group.rank());
    ASSERT_TRUE(group.Begin(operation).ok());
    Publish publish;
    publish.publication = Publication::kStaged;
    publish.bytes = input.size();
    publish.signal = kData;
    ASSERT_TRUE(PublishWhenPossible(group, publish));
    const int peer = 1 - group.rank();
    ASSERT_TRUE(AwaitSignal(group, peer, kData, 0));
    std::vector<std::byte> read(8);
    const absl::Status status =
        group.ReadInto(peer, Region::kInput, 0, read.size(), 0, read.data());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(read, std::vector<std::byte>(8));
    EXPECT_FALSE(group.Read(peer, Region::kInput, 0, read.size(), 0, read.data()).ok());
    EXPECT_EQ(group.CheckMembers().code(), absl::StatusCode::kInvalidArgument);
    group.Withdraw();
  });
}

// Also where neither does what the other waits for.
TEST_P(GroupConformance, AnotherCheckIsSeenByWhoWaits) {
  Connect(3);
  RunMembers(groups_, [](GroupTransport& group) {
    ASSERT_TRUE(Meet(group));
    GroupOperation operation;
    operation.sequence = 1;
    operation.check = group.rank() == 1 ? 41 : 40;
    ASSERT_TRUE(group.Begin(operation).ok());
    const Deadline deadline = Deadline::After(std::chrono::seconds(30));
    absl::Status status = group.CheckMembers();
    while (status.ok() && !deadline.Passed(Clock::now())) {
      group.Wait((group.rank() + 1) % 3, kOther, 0, milliseconds(1));
      status = group.CheckMembers();
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    group.Withdraw();
  });
}

}  // namespace
}  // namespace phalanx::spi
