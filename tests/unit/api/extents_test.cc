#include "extents.h"

#include <array>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::api {
namespace {

using plan::CollectiveKind;
using ::testing::HasSubstr;

std::array<float, 256> memory;

Call MakeCall(CollectiveKind kind, const void* send, void* receive, uint64_t count, int root = 0) {
  return {kind, send, receive, count, DataType::kFloat32, root, ReduceOp::kSum};
}

void ExpectInvalid(const Call& call, int rank, int size, const std::string& text) {
  const absl::Status status = Validate(call, rank, size);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST(ExtentsTest, SaysWhatEachOperationUses) {
  const auto extents = [](CollectiveKind kind, int rank) {
    return ExtentsOf(MakeCall(kind, nullptr, nullptr, 10, /*root=*/1), rank, 4);
  };
  EXPECT_EQ(extents(CollectiveKind::kAllReduce, 2).send, 10u);
  EXPECT_EQ(extents(CollectiveKind::kReduceScatter, 2).send, 40u);
  EXPECT_EQ(extents(CollectiveKind::kReduceScatter, 2).in_place_at, 20u);
  EXPECT_EQ(extents(CollectiveKind::kAllGather, 2).receive, 40u);
  EXPECT_EQ(extents(CollectiveKind::kBroadcast, 2).send, 0u);
  EXPECT_EQ(extents(CollectiveKind::kBroadcast, 1).send, 10u);
  EXPECT_EQ(extents(CollectiveKind::kReduce, 2).receive, 0u);
  EXPECT_EQ(extents(CollectiveKind::kGather, 1).receive, 40u);
  EXPECT_EQ(extents(CollectiveKind::kScatter, 0).send, 0u);
  EXPECT_EQ(extents(CollectiveKind::kAllToAll, 0).send, 40u);
  EXPECT_EQ(extents(CollectiveKind::kBarrier, 0).send, 0u);
}

TEST(ExtentsTest, AcceptsInPlaceAndApart) {
  float* data = memory.data();
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kAllReduce, data, data, 64), 0, 2).ok());
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kAllReduce, data, data + 64, 64), 0, 2).ok());
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kAllGather, data + 20, data, 10), 2, 4).ok());
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kReduceScatter, data, data + 30, 10), 3, 4).ok());
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kBroadcast, nullptr, data, 10, 0), 1, 4).ok());
}

TEST(ExtentsTest, RefusesOverlapThatIsNotInPlace) {
  float* data = memory.data();
  ExpectInvalid(MakeCall(CollectiveKind::kAllReduce, data, data + 1, 64), 0, 2, "overlap");
  ExpectInvalid(MakeCall(CollectiveKind::kAllReduce, data + 63, data, 64), 0, 2, "overlap");
  ExpectInvalid(MakeCall(CollectiveKind::kAllGather, data, data, 10), 2, 4, "overlap");
  ExpectInvalid(MakeCall(CollectiveKind::kAllToAll, data, data, 10), 0, 4, "separate buffers");
}

TEST(ExtentsTest, RefusesNullWhereElementsAreNeeded) {
  float* data = memory.data();
  ExpectInvalid(MakeCall(CollectiveKind::kAllReduce, nullptr, data, 8), 0, 2,
                "send buffer is null");
  ExpectInvalid(MakeCall(CollectiveKind::kAllReduce, data, nullptr, 8), 0, 2, "32 bytes");
  EXPECT_TRUE(Validate(MakeCall(CollectiveKind::kAllReduce, nullptr, nullptr, 0), 0, 2).ok());
}

TEST(ExtentsTest, RefusesWhatCannotBeMeant) {
  float* data = memory.data();
  ExpectInvalid(MakeCall(CollectiveKind::kBroadcast, data, data, 8, 2), 0, 2, "root 2");
  ExpectInvalid(MakeCall(CollectiveKind::kBroadcast, data, data, 8, -1), 0, 2, "root -1");
  ExpectInvalid(MakeCall(CollectiveKind::kSend, data, nullptr, 8, 5), 0, 2, "peer 5");
  ExpectInvalid(MakeCall(CollectiveKind::kAllReduce, data, data, ~uint64_t{0}), 0, 2,
                "can't be meant");
  Call call = MakeCall(CollectiveKind::kAllReduce, data, data, 8);
  call.type = static_cast<DataType>(77);
  ExpectInvalid(call, 0, 2, "unknown data type 77");
  call.type = DataType::kFloat32;
  call.op = static_cast<ReduceOp>(9);
  ExpectInvalid(call, 0, 2, "unknown reduction 9");
}

}  // namespace
}  // namespace phalanx::api
