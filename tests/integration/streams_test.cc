// Operations on streams: which are reached together, graphs, the wait for the whole device.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "phalanx/graph.h"
#include "phalanx/session.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

using StreamsTest = Ranks;

constexpr DataType kInt = DataType::kInt64;
constexpr size_t kMany = size_t{1} << 20;  // more than any transport buffers

TEST_F(StreamsTest, NeighbouringMessagesAreReachedTogether) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    const int other = 1 - world.rank();
    const std::vector<int64_t> sent(kMany, world.rank() + 5);
    std::vector<int64_t> received(kMany);
    Work send = world.Send(sent.data(), kMany, kInt, other, {.stream = stream.get()});
    Work receive = world.Receive(received.data(), kMany, kInt, other, {.stream = stream.get()});
    EXPECT_TRUE(send.Wait().ok());
    EXPECT_TRUE(receive.Wait().ok());
    EXPECT_THAT(received, Each(other + 5));
  });
}

TEST_F(StreamsTest, AMessageWaitsForItsNeighbourThatWritesItsBuffer) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    std::vector<int64_t> values(kMany, world.rank() == 0 ? 9 : 0);
    // From each rank to the next, through one buffer.
    Work receive;
    if (world.rank() > 0) {
      receive =
          world.Receive(values.data(), kMany, kInt, world.rank() - 1, {.stream = stream.get()});
    }
    Work send;
    if (world.rank() < 2) {
      send = world.Send(values.data(), kMany, kInt, world.rank() + 1, {.stream = stream.get()});
    }
    EXPECT_TRUE(receive.Wait().ok());
    EXPECT_TRUE(send.Wait().ok());
    EXPECT_THAT(values, Each(9));
  });
}

TEST_F(StreamsTest, AMessageWaitsForWhatWasQueuedBetween) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    int64_t first = 0;
    int64_t second = 0;
    if (world.rank() == 0) {
      const int64_t sent = 3;
      int64_t answer = 0;
      EXPECT_TRUE(world.Send(&sent, 1, kInt, 1).Wait().ok());
      EXPECT_TRUE(world.Receive(&answer, 1, kInt, 1).Wait().ok());
      EXPECT_EQ(answer, 6);
    } else {
      Work receive = world.Receive(&first, 1, kInt, 0, {.stream = stream.get()});
      ASSERT_TRUE(stream->Enqueue([&] { second = first * 2; }).ok());
      EXPECT_TRUE(world.Send(&second, 1, kInt, 0, {.stream = stream.get()}).Wait().ok());
    }
  });
}

TEST_F(StreamsTest, AGraphRepeatsItsCalls) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    int64_t sum = 1;
    int64_t everyone[2] = {};
    Graph graph;
    EXPECT_TRUE(
        world.AllReduce(&sum, &sum, 1, kInt, ReduceOp::kSum, {.graph = &graph}).Wait().ok());
    EXPECT_TRUE(world.AllGather(&sum, everyone, 1, kInt, {.graph = &graph}).Wait().ok());
    EXPECT_EQ(sum, 1);
    Work last;
    for (int i = 0; i < 5; ++i) last = graph.Launch(stream.get());
    EXPECT_TRUE(last.Wait().ok());
    EXPECT_EQ(sum, 32);
    EXPECT_THAT(everyone, Each(32));
    EXPECT_TRUE(graph.Launch(nullptr).Wait().ok());
    EXPECT_EQ(sum, 64);
  });
}

TEST_F(StreamsTest, AGraphWithAMistakeIssuesNothing) {
  Run(1, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    int64_t value = 1;
    Graph graph;
    Group group;
    EXPECT_TRUE(graph.Launch(stream.get()).Wait().ok());  // nothing to do
    const auto wrong = [&](const OpOptions& options) {
      return world.AllReduce(&value, &value, 1, kInt, ReduceOp::kSum, options).Wait();
    };
    EXPECT_TRUE(wrong({.graph = &graph}).ok());
    EXPECT_EQ(wrong({.group = &group, .graph = &graph}).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(wrong({.stream = stream.get(), .graph = &graph}).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(graph.Launch(stream.get()).Wait().message()),
                HasSubstr("recorded into a graph"));
    EXPECT_TRUE(group.Launch().Wait().ok());
  });
}

TEST_F(StreamsTest, TheWaitForTheDeviceCoversAllStreams) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto first = *session.CreateStream();
    const auto second = *session.CreateStream();
    int64_t sum = world.rank() + 1;
    int64_t copy = 0;
    const Work work = world.AllReduce(&sum, &sum, 1, kInt, ReduceOp::kSum, {.stream = first.get()});
    ASSERT_TRUE(second->Enqueue([&] { copy = 4; }).ok());
    EXPECT_TRUE(session.Synchronize(std::chrono::seconds(30)).ok());
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(copy, 4);
  });
}

TEST_F(StreamsTest, TheWaitForTheDeviceEndsInTime) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    int64_t sum = 1;
    Work work;
    if (world.rank() == 0) {
      work = world.AllReduce(&sum, &sum, 1, kInt, ReduceOp::kSum, {.stream = stream.get()});
      const absl::Status status = session.Synchronize(std::chrono::milliseconds(50));
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
    }
    int64_t token = 0;
    if (world.rank() == 0) {
      EXPECT_TRUE(world.Send(&token, 1, kInt, 1).Wait().ok());
    } else {
      EXPECT_TRUE(world.Receive(&token, 1, kInt, 0).Wait().ok());
      work = world.AllReduce(&sum, &sum, 1, kInt, ReduceOp::kSum);
    }
    EXPECT_TRUE(work.Wait().ok());
    EXPECT_EQ(sum, 2);
  });
}

}  // namespace
}  // namespace phalanx
