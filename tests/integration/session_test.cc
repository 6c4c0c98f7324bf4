// Sessions, works, streams, communicators: what is not the arithmetic of a collective.
#include "phalanx/session.h"

#include <atomic>
#include <future>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

using SessionTest = Ranks;

constexpr DataType kInt = DataType::kInt64;

TEST_F(SessionTest, KnowsItsPlace) {
  std::atomic<int> seen{0};
  Run(3, [&](Session& session) {
    View& view = session.view();
    EXPECT_EQ(view.size(), 3);
    EXPECT_EQ(view.local_size(), 3);
    EXPECT_EQ(view.local_rank(), view.rank());
    EXPECT_EQ(view.epoch(), 1u);
    seen += 1 << view.rank();
  });
  EXPECT_EQ(seen, 7);
}

TEST_F(SessionTest, WorksThatNobodyWaitsForComplete) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<std::promise<absl::Status>> ends(20);
    std::vector<int64_t> values(ends.size(), world.rank() + 1);
    for (size_t i = 0; i < ends.size(); ++i) {
      world.AllReduce(&values[i], &values[i], 1, kInt, ReduceOp::kSum)
          .Then([&ends, i](const absl::Status& status) { ends[i].set_value(status); });
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      auto future = ends[i].get_future();
      ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
      EXPECT_TRUE(future.get().ok());
      EXPECT_EQ(values[i], 6);
    }
  });
}

TEST_F(SessionTest, ManyInFlightWaitedForInReverse) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<std::vector<int64_t>> values(50, std::vector<int64_t>(5000, world.rank()));
    std::vector<Work> works;
    for (auto& value : values) {
      works.push_back(
          world.AllReduce(value.data(), value.data(), value.size(), kInt, ReduceOp::kSum));
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) {
      ASSERT_TRUE(work->Wait().ok());
    }
    for (const auto& value : values) EXPECT_EQ(value[4999], 3);
  });
}

TEST_F(SessionTest, SeveralThreadsShareACommunicatorForMessages) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const int peer = 1 - world.rank();
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(world.Send(&i, 1, kInt, peer).Wait().ok());
      }
    });
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 200; ++i) {
        int64_t value = -1;
        ASSERT_TRUE(world.Receive(&value, 1, kInt, peer).Wait().ok());
        ASSERT_EQ(value, i);
      }
    });
    for (int i = 0; i < 200; ++i) {
      int64_t one = 1;
      ASSERT_TRUE(world.AllReduce(&one, &one, 1, kInt, ReduceOp::kSum).Wait().ok());
      ASSERT_EQ(one, 2);
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_F(SessionTest, WaitGivesUpAtItsDeadlineAndTheOperationGoesOn) {
  std::promise<void> late;
  std::shared_future<void> may_start = late.get_future().share();
  Run(2, [&](Session& session) {
    Communicator& world = session.view().world();
    int64_t value = 1;
    if (world.rank() == 1) may_start.wait();
    Work work = world.AllReduce(&value, &value, 1, kInt, ReduceOp::kSum);
    if (world.rank() == 0) {
      const absl::Status status = work.Wait(std::chrono::milliseconds(50));
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()), HasSubstr("all_reduce #0"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
      EXPECT_FALSE(work.Poll());
      late.set_value();
    }
    EXPECT_TRUE(work.Wait().ok());
    EXPECT_EQ(value, 2);
  });
}

TEST_F(SessionTest, WaitingInsideACallbackFails) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    int64_t first = 1;
    int64_t second = 1;
    std::promise<absl::Status> inner;
    Work later;
    world.AllReduce(&first, &first, 1, kInt, ReduceOp::kSum).Then([&](const absl::Status&) {
      later = world.AllReduce(&second, &second, 1, kInt, ReduceOp::kSum);
      inner.set_value(later.Poll() ? absl::FailedPreconditionError("") : later.Wait());
    });
    EXPECT_EQ(inner.get_future().get().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(later.Wait().ok());
    EXPECT_EQ(second, 2);
  });
}

TEST_F(SessionTest, StreamsOrderOperationsAmongOtherWork) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    auto stream = session.CreateStream();
    ASSERT_TRUE(stream.ok());
    std::vector<int64_t> input(1000, 0);
    std::vector<int64_t> output(1000, 0);
    int64_t seen = -1;
    OpOptions on_stream;
    on_stream.stream = stream->get();
    // The reduction may start only when the input is there, and the reader only after it.
    ASSERT_TRUE((*stream)->Enqueue([&] { std::fill(input.begin(), input.end(), 21); }).ok());
    Work work = world.AllReduce(input.data(), output.data(), 1000, kInt, ReduceOp::kSum, on_stream);
    ASSERT_TRUE((*stream)->Enqueue([&] { seen = output[999]; }).ok());
    ASSERT_TRUE((*stream)->Synchronize(std::chrono::seconds(20)).ok());
    EXPECT_EQ(seen, 42);
    EXPECT_TRUE(work.Wait().ok());
  });
}

TEST_F(SessionTest, SplitMakesCommunicatorsByColorInTheOrderOfKeys) {
  Run(5, [](Session& session) {
    Communicator& world = session.view().world();
    // Ranks 0, 2, 4 in reverse order; 1 alone; 3 in none.
    const int color = world.rank() == 3 ? -1 : world.rank() % 2;
    auto part = world.Split(color, -world.rank());
    ASSERT_TRUE(part.ok()) << part.status();
    if (world.rank() == 3) {
      EXPECT_EQ(*part, nullptr);
    } else {
      EXPECT_EQ((*part)->size(), color == 0 ? 3 : 1);
      EXPECT_EQ((*part)->rank(), color == 0 ? 2 - world.rank() / 2 : 0);
      std::vector<int64_t> ranks(static_cast<size_t>((*part)->size()), -1);
      const int64_t mine = world.rank();
      ASSERT_TRUE((*part)->AllGather(&mine, ranks.data(), 1, kInt).Wait().ok());
      EXPECT_EQ(ranks, color == 0 ? (std::vector<int64_t>{4, 2, 0}) : std::vector<int64_t>{1});
    }
    // Communicators come and go; numbers stay apart.
    for (int i = 0; i < 5; ++i) {
      auto again = world.Split(0, world.rank());
      ASSERT_TRUE(again.ok());
      int64_t one = 1;
      ASSERT_TRUE((*again)->AllReduce(&one, &one, 1, kInt, ReduceOp::kSum).Wait().ok());
      EXPECT_EQ(one, 5);
    }
  });
}

TEST_F(SessionTest, OneRank) {
  Run(1, [](Session& session) {
    Communicator& world = session.view().world();
    int64_t value = 7;
    int64_t out = 0;
    EXPECT_TRUE(world.AllReduce(&value, &out, 1, kInt, ReduceOp::kAverage).Wait().ok());
    EXPECT_EQ(out, 7);
    EXPECT_TRUE(world.Barrier().Wait().ok());
    EXPECT_TRUE(world.AllToAll(&value, &out, 1, kInt).Wait().ok());
  });
}

TEST_F(SessionTest, AWorkOutlivesItsCommunicatorAndItsSession) {
  Work kept;
  Run(2, [&](Session& session) {
    Communicator& world = session.view().world();
    auto part = world.Split(0, 0);
    ASSERT_TRUE(part.ok());
    int64_t one = 1;
    Work work = (*part)->AllReduce(&one, &one, 1, kInt, ReduceOp::kSum);
    part->reset();
    EXPECT_TRUE(work.Wait().ok());
    EXPECT_EQ(one, 2);
    if (world.rank() == 0) kept = work;
  });
  EXPECT_TRUE(kept.Poll());
  EXPECT_TRUE(kept.Wait().ok());
}

TEST_F(SessionTest, ADestroyedSessionAbortsWhatIsInFlightEverywhere) {
  expect_orderly_ = false;
  StartCoordinator();
  StartAgent();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto session = Session::Join(OptionsOf(rank, 2));
      ASSERT_TRUE(session.ok()) << session.status();
      Communicator& world = (*session)->view().world();
      int64_t value = 1;
      if (rank == 0) {
        Work message = world.Receive(&value, 1, kInt, 1);
        session->reset();
        EXPECT_EQ(message.Wait().code(), absl::StatusCode::kAborted);
        return;
      }
      const absl::Status status =
          world.AllReduce(&value, &value, 1, kInt, ReduceOp::kSum).Wait(std::chrono::seconds(20));
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Communicators that share no member are told apart by the job's ordering service all the same.
TEST_F(SessionTest, HalvesThatSplitAgainGetCommunicatorsOfTheirOwn) {
  ordering_ = "strict";
  Run(4, [](Session& session) {
    Communicator& world = session.view().world();
    const auto half = world.Split(world.rank() / 2, 0);
    ASSERT_TRUE(half.ok()) << half.status();
    for (int i = 0; i < 5; ++i) {
      const auto again = (*half)->Split(0, 0);
      ASSERT_TRUE(again.ok()) << again.status();
      int64_t sum = world.rank();
      const absl::Status status = (*again)->AllReduce(&sum, &sum, 1, kInt, ReduceOp::kSum).Wait();
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(sum, world.rank() < 2 ? 1 : 5);
    }
  });
}

}  // namespace
}  // namespace phalanx
