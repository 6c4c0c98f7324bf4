// Bad input: each a clear error, in time, and nothing lost by it.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

using MisuseTest = Ranks;

constexpr DataType kFloat = DataType::kFloat32;

void ExpectInvalid(const absl::Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST_F(MisuseTest, WrongArgumentsFailAtOnceAndDoNoHarm) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<float> data(64, 1.0f);
    float* const a = data.data();
    ExpectInvalid(world.AllReduce(nullptr, a, 8, kFloat, ReduceOp::kSum).Wait(), "null");
    ExpectInvalid(world.AllReduce(a, a + 4, 8, kFloat, ReduceOp::kSum).Wait(), "overlap");
    ExpectInvalid(world.AllReduce(a, a, 8, static_cast<DataType>(99), ReduceOp::kSum).Wait(),
                  "unknown data type 99");
    ExpectInvalid(world.AllReduce(a, a, ~size_t{0}, kFloat, ReduceOp::kSum).Wait(), "count");
    ExpectInvalid(world.Broadcast(a, a, 8, kFloat, 2).Wait(), "root 2");
    ExpectInvalid(world.Send(a, 8, kFloat, -1).Wait(), "peer -1");
    const std::vector<uint64_t> one_count = {1};
    ExpectInvalid(world.AllGather(a, a + 32, Parts{one_count, {}}, kFloat).Wait(), "counts");
    const std::vector<uint64_t> counts = {2, 2};
    const std::vector<uint64_t> same = {0, 1};
    ExpectInvalid(world.AllGather(a, a + 32, Parts{counts, same}, kFloat).Wait(),
                  "receive parts overlap");
    // The communicator is as good as before.
    ASSERT_TRUE(world.AllReduce(a, a, 8, kFloat, ReduceOp::kSum).Wait().ok());
    EXPECT_EQ(a[0], 2.0f);
  });
}

TEST_F(MisuseTest, AGroupWithAMistakeStartsNothing) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    float value = 1.0f;
    Group group;
    OpOptions in_group;
    in_group.group = &group;
    world.AllReduce(&value, &value, 1, kFloat, ReduceOp::kSum, in_group);
    world.Send(&value, 1, kFloat, 7, in_group);
    ExpectInvalid(group.Launch().Wait(), "peer 7");
    EXPECT_TRUE(group.Launch().Wait().ok());  // empty now
    EXPECT_EQ(value, 1.0f);
  });
}

TEST_F(MisuseTest, UseAfterCloseFails) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    ASSERT_TRUE(session.Close().ok());
    float value = 1.0f;
    const absl::Status status = world.AllReduce(&value, &value, 1, kFloat, ReduceOp::kSum).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("closed"));
    EXPECT_EQ(world.Split(0, 0).status().code(), absl::StatusCode::kFailedPrecondition);
  });
}

TEST_F(MisuseTest, CloseWithOperationsInFlightIsRefused) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    float value = 1.0f;
    if (world.rank() == 0) {
      Work work = world.Receive(&value, 1, kFloat, 1);
      EXPECT_EQ(session.Close().code(), absl::StatusCode::kFailedPrecondition);
      ASSERT_TRUE(world.Barrier().Wait().ok());
      EXPECT_TRUE(work.Wait().ok());
    } else {
      ASSERT_TRUE(world.Barrier().Wait().ok());
      EXPECT_TRUE(world.Send(&value, 1, kFloat, 0).Wait().ok());
    }
  });
}

TEST_F(MisuseTest, MemoryThatIsNotThereIsRefusedAndNothingIsTaken) {
  Run(1, [](Session& session) {
    EXPECT_EQ(session.Allocate(size_t{1} << 50).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(session.Allocate((size_t{1} << 30) + 1).status().code(),
              absl::StatusCode::kResourceExhausted);
    auto buffer = session.Allocate(1 << 20);
    ASSERT_TRUE(buffer.ok());
    std::fill_n(buffer->as<char>(), buffer->size(), 'x');
  });
}

TEST_F(MisuseTest, AMissingRankIsNamedAtTheDeadline) {
  StartCoordinator();
  StartAgent();
  Options options = OptionsOf(0, 2);
  options.join_timeout = std::chrono::milliseconds(300);
  const auto session = Session::Join(options);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(session.status().message()), HasSubstr("rank 1"));
}

TEST_F(MisuseTest, TwoProcessesWithOneRank) {
  StartCoordinator();
  StartAgent();
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Options options = OptionsOf(0, 2);
      options.join_timeout = std::chrono::seconds(1);
      const auto session = Session::Join(options);
      refused += session.status().code() == absl::StatusCode::kInvalidArgument;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace phalanx
