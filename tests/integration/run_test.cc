// Session::Run: ranks are lost while it runs, and spares take their places.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "run_fixture.h"

namespace phalanx {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int64_t SumOfRanks(const View& view) { return int64_t{view.size()} * (view.size() - 1) / 2; }

TEST_F(RunTest, WithoutALossTheBodyRunsOnce) {
  const auto ends = RunJob(3, 0, [](Session&, View& view) {
    std::vector<int64_t> values(kMany, view.rank());
    EXPECT_TRUE(Sum(view.world(), &values).ok());
    EXPECT_THAT(values, Each(3));
    return absl::OkStatus();
  });
  for (int rank = 0; rank < 3; ++rank) {
    const End& end = ends[static_cast<size_t>(rank)];
    ExpectGoodEnd(end);
    EXPECT_EQ(end.rank, rank);
    EXPECT_THAT(end.epochs, ElementsAre(1));
  }
}

TEST_F(RunTest, ASpareThatIsNotNeededEndsWithTheOthers) {
  const auto ends = RunJob(2, 2, [](Session&, View& view) { return AwaitAll(view); });
  for (const End& end : ends) ExpectGoodEnd(end);
  for (size_t spare = 2; spare < 4; ++spare) {
    EXPECT_EQ(ends[spare].rank, -1);
    EXPECT_EQ(ends[spare].size, 0);
    EXPECT_THAT(ends[spare].epochs, IsEmpty());
  }
}

TEST_F(RunTest, AnErrorOfTheBodysOwnIsReturnedAndItIsntRunAgain) {
  const auto ends = RunJob(2, 1, [](Session&, View& view) {
    const absl::Status all = AwaitAll(view);
    EXPECT_TRUE(all.ok()) << all;
    return absl::InvalidArgumentError("wrong data");
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ends[rank].run, absl::InvalidArgumentError("wrong data"));
    EXPECT_TRUE(ends[rank].closed.ok()) << ends[rank].closed;
    EXPECT_THAT(ends[rank].epochs, ElementsAre(1));
  }
  ExpectGoodEnd(ends[2]);
  EXPECT_EQ(ends[2].rank, -1);
}

TEST_F(RunTest, AnErrorThatLooksLikeALossButIsNoneIsReturned) {
  const auto ends = RunJob(2, 1, [](Session&, View&) { return absl::UnavailableError("no data"); });
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ends[rank].run, absl::UnavailableError("no data"));
    EXPECT_THAT(ends[rank].epochs, ElementsAre(1));
  }
}

// In the second view everything works that works in the first, whatever the transport.
class TakeOverTest : public RunTest,
                     public ::testing::WithParamInterface<std::tuple<const char*, int>> {
 protected:
  void SetUp() override { std::tie(transport_, nodes_) = GetParam(); }
};

TEST_P(TakeOverTest, ASpareTakesTheLostRanksPlace) {
  constexpr int kLost = 1;
  const auto ends = RunJob(4, 1, [](Session& session, View& view) {
    if (const absl::Status status = LoseIn(view, 1, {kLost}); !status.ok()) return status;
    EXPECT_EQ(view.epoch(), 2U);
    EXPECT_EQ(view.size(), 4);
    Communicator& world = view.world();
    std::vector<int64_t> values(kMany, view.rank());
    absl::Status status = Sum(world, &values);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(values, Each(SumOfRanks(view)));

    std::vector<int64_t> ranks(4, -1);
    const int64_t mine = view.rank();
    EXPECT_TRUE(world.AllGather(&mine, ranks.data(), 1, kInt).Wait().ok());
    EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));

    const auto half = world.Split(view.rank() % 2, view.rank());
    EXPECT_TRUE(half.ok()) << half.status();
    if (!half.ok()) return half.status();
    std::vector<int64_t> few(3, view.rank());
    EXPECT_TRUE(Sum(**half, &few).ok());
    EXPECT_THAT(few, Each(view.rank() % 2 == 0 ? 2 : 4));

    const auto stream = session.CreateStream();
    EXPECT_TRUE(stream.ok()) << stream.status();
    if (!stream.ok()) return stream.status();
    std::vector<int64_t> onto(kMany, -1);
    EXPECT_TRUE((*stream)->Enqueue([&] { std::fill(onto.begin(), onto.end(), 2); }).ok());
    OpOptions options;
    options.stream = stream->get();
    EXPECT_TRUE(Sum(world, &onto, options).ok());
    EXPECT_THAT(onto, Each(8));

    // With keys, in an order of each rank's own.
    std::vector<std::vector<int64_t>> keyed(3, std::vector<int64_t>(10, view.rank()));
    std::vector<Work> works;
    const std::array<const char*, 3> keys = {"a", "b", "c"};
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t which = (i + static_cast<size_t>(view.rank())) % keys.size();
      OpOptions with_key;
      with_key.key = keys[which];
      works.push_back(world.AllReduce(keyed[which].data(), keyed[which].data(), 10, kInt,
                                      ReduceOp::kSum, with_key));
    }
    for (Work& work : works) EXPECT_TRUE(work.Wait().ok());
    for (const auto& sums : keyed) EXPECT_THAT(sums, Each(6));
    return absl::OkStatus();
  });
  for (int process = 0; process < 5; ++process) {
    const End& end = ends[static_cast<size_t>(process)];
    if (process == kLost) {
      EXPECT_TRUE(end.lost);
      continue;
    }
    ExpectGoodEnd(end);
    EXPECT_EQ(end.rank, process == 4 ? kLost : process);
    EXPECT_EQ(end.epochs,
              process == 4 ? (std::vector<uint64_t>{2}) : (std::vector<uint64_t>{1, 2}));
  }
}

TEST_P(TakeOverTest, TwoAtOnce) {
  const auto ends = RunJob(4, 2, [](Session&, View& view) {
    // A second loss may come when the next view is there already.
    if (view.epoch() == 1) return LoseIn(view, 1, {0, 2});
    std::vector<int64_t> values(kMany, view.rank());
    const absl::Status status = Sum(view.world(), &values);
    if (!status.ok()) return status;
    EXPECT_THAT(values, Each(6));
    return absl::OkStatus();
  });
  std::vector<int> ranks;
  for (size_t process = 0; process < 6; ++process) {
    if (process == 0 || process == 2) {
      EXPECT_TRUE(ends[process].lost);
      continue;
    }
    ExpectGoodEnd(ends[process]);
    ranks.push_back(ends[process].rank);
  }
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(0, 1, 2, 3));
}

INSTANTIATE_TEST_SUITE_P(Transports, TakeOverTest,
                         ::testing::Values(std::tuple("shm", 1), std::tuple("ucx", 1),
                                           std::tuple("ofi", 1), std::tuple("auto", 2),
                                           std::tuple("ofi", 2)),
                         [](const auto& chosen) {
                           return std::string(std::get<0>(chosen.param)) + "_" +
                                  std::to_string(std::get<1>(chosen.param));
                         });

class OrderedRunTest : public RunTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    ordering_ = GetParam();
    device_slots_ = 1;
  }
};

// On a device that holds one collective, so that every view needs orders of its own.
TEST_P(OrderedRunTest, OperationsAreOrderedInEveryView) {
  const auto ends = RunJob(3, 2, [](Session& session, View& view) {
    const auto round = [&]() -> absl::Status {
      std::vector<std::unique_ptr<Stream>> streams;
      std::vector<Work> works;
      std::vector<std::vector<int64_t>> values(4, std::vector<int64_t>(1000, view.rank()));
      const std::array<const char*, 4> keys = {"a", "b", "c", "d"};
      for (size_t i = 0; i < keys.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(view.rank())) % keys.size();
        streams.push_back(*session.CreateStream());
        OpOptions options;
        options.key = keys[which];
        options.stream = streams.back().get();
        works.push_back(view.world().AllReduce(values[which].data(), values[which].data(), 1000,
                                               kInt, ReduceOp::kSum, options));
      }
      absl::Status status;
      for (Work& work : works) status.Update(work.Wait());
      if (!status.ok()) return status;
      for (const auto& sums : values) EXPECT_THAT(sums, Each(3));
      return absl::OkStatus();
    };
    for (int i = 0; i < 10; ++i) {
      if (const absl::Status status = round(); !status.ok()) return status;
    }
    if (view.epoch() == 1) {
      if (const absl::Status status = LoseIn(view, 1, {2}); !status.ok()) return status;
    }
    if (view.epoch() == 2) {
      if (const absl::Status status = LoseIn(view, 2, {0}); !status.ok()) return status;
    }
    return round();
  });
  EXPECT_TRUE(ends[0].lost);
  EXPECT_TRUE(ends[2].lost);
  ExpectGoodEnd(ends[1]);
  EXPECT_THAT(ends[1].epochs, ElementsAre(1, 2, 3));
  for (const size_t spare : {3U, 4U}) ExpectGoodEnd(ends[spare]);
  EXPECT_EQ(ends[3].rank + ends[4].rank, 2);
}

INSTANTIATE_TEST_SUITE_P(Modes, OrderedRunTest, ::testing::Values("strict", "adaptive"),
                         [](const auto& chosen) { return std::string(chosen.param); });

TEST_F(RunTest, OneAfterTheOtherAlsoTheOneThatTookItsPlace) {
  const auto ends = RunJob(3, 2, [](Session&, View& view) {
    if (view.epoch() < 3) return LoseIn(view, view.epoch(), {1});
    std::vector<int64_t> values(1, view.rank());
    EXPECT_TRUE(Sum(view.world(), &values).ok());
    EXPECT_THAT(values, Each(3));
    return absl::OkStatus();
  });
  EXPECT_TRUE(ends[1].lost);
  for (const size_t rank : {0U, 2U}) {
    ExpectGoodEnd(ends[rank]);
    EXPECT_THAT(ends[rank].epochs, ElementsAre(1, 2, 3));
  }
  // Which of the two was first depends on who joined first.
  const End& first = ends[3].lost ? ends[3] : ends[4];
  const End& second = ends[3].lost ? ends[4] : ends[3];
  EXPECT_TRUE(first.lost);
  EXPECT_THAT(first.epochs, ElementsAre(2));
  ExpectGoodEnd(second);
  EXPECT_THAT(second.epochs, ElementsAre(3));
  EXPECT_EQ(second.rank, 1);
}

TEST_F(RunTest, WithoutASpareALossEndsTheJobOnAllRanks) {
  const auto ends = RunJob(3, 0, [](Session&, View& view) { return LoseIn(view, 1, {1}); });
  for (const size_t rank : {0U, 2U}) {
    ExpectNamed(ends[rank].run, "rank 1");
    EXPECT_THAT(ends[rank].epochs, ElementsAre(1));
  }
}

TEST_F(RunTest, WhenTheSparesAreUsedUpALossEndsTheJob) {
  const auto ends = RunJob(3, 1, [](Session&, View& view) {
    return LoseIn(view, view.epoch(), {view.epoch() == 1 ? 2 : 0});
  });
  ExpectNamed(ends[1].run, "rank 0");
  EXPECT_THAT(ends[1].epochs, ElementsAre(1, 2));
  ExpectNamed(ends[3].run, "rank 0");
  EXPECT_THAT(ends[3].epochs, ElementsAre(2));
}

// One that has come to its end takes part again when another one hasn't.
TEST_F(RunTest, WhoHasFinishedRunsAgainWhenAnotherIsLost) {
  const auto ends = RunJob(3, 1, [](Session&, View& view) {
    const absl::Status all = AwaitAll(view);
    if (view.epoch() == 1 && view.rank() == 0) return Doomed();
    return all;
  });
  EXPECT_TRUE(ends[0].lost);
  for (const size_t process : {1U, 2U}) {
    ExpectGoodEnd(ends[process]);
    EXPECT_THAT(ends[process].epochs, ElementsAre(1, 2));
  }
  ExpectGoodEnd(ends[3]);
  EXPECT_EQ(ends[3].rank, 0);
}

// What was allocated or made before the loss belongs to the process, not to the view.
TEST_F(RunTest, BuffersAndStreamsStay) {
  const auto make_body = [](int /*process*/) -> Body {
    auto buffer = std::make_shared<Buffer>();
    auto stream = std::make_shared<std::unique_ptr<Stream>>();
    return [buffer, stream](Session& session, View& view) {
      if (*stream == nullptr) {
        *buffer = *session.Allocate(kMany * sizeof(int64_t));
        *stream = *session.CreateStream();
        std::fill_n(buffer->as<int64_t>(), kMany, 100);
      }
      int64_t* const values = buffer->as<int64_t>();
      OpOptions options;
      options.stream = stream->get();
      if (const absl::Status status = LoseIn(view, 1, {2}); !status.ok()) return status;
      EXPECT_EQ(values[kMany - 1], 100);
      const auto fresh = session.Allocate(kMany * sizeof(int64_t));
      EXPECT_TRUE(fresh.ok()) << fresh.status();
      if (!fresh.ok()) return fresh.status();
      EXPECT_TRUE(view.world()
                      .AllReduce(values, fresh->as<int64_t>(), kMany, kInt, ReduceOp::kSum, options)
                      .Wait()
                      .ok());
      EXPECT_EQ(fresh->as<int64_t>()[kMany - 1], 300);
      EXPECT_TRUE(view.world()
                      .AllReduce(fresh->as<int64_t>(), values, kMany, kInt, ReduceOp::kSum, options)
                      .Wait()
                      .ok());
      EXPECT_EQ(values[0], 900);
      return absl::OkStatus();
    };
  };
  for (const End& end : RunJob(3, 1, make_body)) {
    if (!end.lost) ExpectGoodEnd(end);
  }
}

// A rank that is not in Run has nowhere to go on, and so nobody has.
TEST_F(RunTest, ARankThatDoesNotUseRunEndsTheJob) {
  StartCoordinator();
  StartAgent();
  std::vector<absl::Status> ends(3);
  std::vector<std::thread> threads;
  std::latch spare_there(1);
  for (int process = 0; process < 4; ++process) {
    threads.emplace_back([&, process] {
      Options options = OptionsOf(process < 3 ? process : 0, 3);
      if (process == 3) {
        MakeSpare(0, &options);
      } else {
        spare_there.wait();
      }
      auto session = Session::Join(options);
      if (process == 3) spare_there.count_down();
      ASSERT_TRUE(session.ok()) << session.status();
      const auto body = [&](View& view) -> absl::Status {
        std::vector<int64_t> values(1, 1);
        if (const absl::Status status = Sum(view.world(), &values); !status.ok()) return status;
        if (view.rank() == 0) return Doomed();
        return Sum(view.world(), &values);
      };
      if (process == 2) {
        ends[2] = body((*session)->view());
        return;
      }
      const absl::Status end = (*session)->Run(body);
      if (process == 1) ends[1] = end;
      if (process == 3) ends[0] = end;
      if (process == 0) {
        int64_t value = 0;
        Work never = (*session)->view().world().Receive(&value, 1, kInt, 1);
        session->reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& end : ends) ExpectNamed(end, "rank 0");
}

// Spares that go before they are needed are none.
TEST_F(RunTest, ASpareMayGo) {
  StartCoordinator();
  StartAgent();
  std::vector<std::thread> threads;
  std::latch spares_there(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      spares_there.wait();
      auto session = Session::Join(OptionsOf(rank, 2));
      ASSERT_TRUE(session.ok()) << session.status();
      const absl::Status end = (*session)->Run([&](View& view) {
        std::vector<int64_t> values(1, 1);
        return Sum(view.world(), &values);
      });
      EXPECT_TRUE(end.ok()) << end;
      EXPECT_TRUE((*session)->Close().ok());
    });
  }
  for (const bool orderly : {false, true}) {
    threads.emplace_back([&, orderly] {
      Options options = OptionsOf(0, 2);
      MakeSpare(0, &options);
      auto session = Session::Join(options);
      spares_there.count_down();
      ASSERT_TRUE(session.ok()) << session.status();
      EXPECT_EQ((*session)->view().rank(), -1);
      if (!orderly) return;
      const absl::Status closed = (*session)->Close();
      EXPECT_TRUE(closed.ok()) << closed;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace phalanx
