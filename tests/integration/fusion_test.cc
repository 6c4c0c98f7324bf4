// Keyed all-reduces that travel together.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "phalanx/session.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

constexpr DataType kInt = DataType::kInt64;

class FusionTest : public Ranks {
 protected:
  FusionTest() { fusion_threshold_ = size_t{1} << 20; }

  static Work Sum(Communicator& world, int64_t* value, const OpOptions& options) {
    return world.AllReduce(value, value, 1, kInt, ReduceOp::kSum, options);
  }
};

// One training step's gradients, in an order of each rank's own; the results' bits of rank 0.
struct Gradients {
  static constexpr int kTensors = 60;
  uint64_t seed;
  ReduceOp op = ReduceOp::kSum;

  static size_t CountOf(int tensor) {
    return static_cast<size_t>(tensor % 7 == 0 ? 20'000 : tensor * 13 % 97);
  }
  std::vector<std::vector<float>> ReduceOn(Communicator& world) const {
    std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(world.rank()));
    std::vector<std::vector<float>> tensors(kTensors);
    std::vector<int> order(kTensors);
    for (int tensor = 0; tensor < kTensors; ++tensor) {
      order[static_cast<size_t>(tensor)] = tensor;
      auto& values = tensors[static_cast<size_t>(tensor)];
      values.resize(CountOf(tensor));
      for (float& value : values) value = std::normal_distribution<float>()(random);
    }
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::string> keys;
    std::vector<Work> works;
    for (const int tensor : order) {
      auto& values = tensors[static_cast<size_t>(tensor)];
      const std::string key = "layer" + std::to_string(tensor) + ".weight";
      works.push_back(world.AllReduce(values.data(), values.data(), values.size(),
                                      DataType::kFloat32, op, {.key = key}));
    }
    for (Work& work : works) {
      const absl::Status status = work.Wait();
      EXPECT_TRUE(status.ok()) << status;
    }
    return tensors;
  }
};

// A job of its own, for tests that compare several.
class OneJob : public Ranks {
 public:
  explicit OneJob(size_t threshold) { fusion_threshold_ = threshold; }
  // What the last rank has after some steps.
  std::vector<std::vector<float>> Train(int size, ReduceOp op) {
    std::vector<std::vector<float>> result;
    Run(size, [&](Session& session) {
      for (uint64_t step = 0; step < 3; ++step) {
        auto tensors = Gradients{step, op}.ReduceOn(session.view().world());
        if (session.view().rank() == size - 1) result = std::move(tensors);
      }
    });
    TearDown();
    return result;
  }
  void TestBody() override {}
};

class FusedResults : public ::testing::TestWithParam<std::tuple<int, ReduceOp>> {};

TEST_P(FusedResults, AreThoseOfEachByItself) {
  const auto& [size, op] = GetParam();
  const auto alone = OneJob(0).Train(size, op);
  for (const size_t threshold : {size_t{4096}, size_t{1} << 20}) {
    const auto fused = OneJob(threshold).Train(size, op);
    ASSERT_EQ(fused.size(), alone.size());
    for (size_t i = 0; i < fused.size(); ++i) {
      ASSERT_EQ(fused[i].size(), alone[i].size());
      if (fused[i].empty()) continue;
      const size_t bytes = fused[i].size() * sizeof(float);
      EXPECT_EQ(std::memcmp(fused[i].data(), alone[i].data(), bytes), 0)
          << "threshold " << threshold << ", tensor " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fusion, FusedResults,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 6),
                                            ::testing::Values(ReduceOp::kSum, ReduceOp::kAverage)));

TEST_F(FusionTest, OverTheOrderingServiceAndStreams) {
  ordering_ = "strict";
  device_slots_ = 2;
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    const auto stream = *session.CreateStream();
    for (int step = 0; step < 5; ++step) {
      int64_t first = 0;
      int64_t second = 1;
      int64_t plain = 2;
      ASSERT_TRUE(stream->Enqueue([&] { first = world.rank() + 10; }).ok());
      std::vector<Work> works;
      const bool turned = world.rank() == 1;
      if (turned) works.push_back(Sum(world, &second, {.key = "second"}));
      works.push_back(Sum(world, &first, {.stream = stream.get(), .key = "first"}));
      works.push_back(Sum(world, &plain, {}));
      if (!turned) works.push_back(Sum(world, &second, {.key = "second"}));
      int64_t copy = 0;
      ASSERT_TRUE(stream->Copy(&copy, &first, sizeof(copy)).ok());
      for (Work& work : works) EXPECT_TRUE(work.Wait().ok());
      ASSERT_TRUE(stream->Synchronize(std::chrono::seconds(20)).ok());
      EXPECT_EQ(first, 21);
      EXPECT_EQ(copy, 21);
      EXPECT_EQ(second, 2);
      EXPECT_EQ(plain, 4);
    }
  });
}

TEST_F(FusionTest, UsesOfAKeyKeepTheirOrder) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<int64_t> values(40);
    std::vector<Work> works;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(i);
      works.push_back(Sum(world, &values[i], {.key = "loss"}));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(works[i].Wait().ok());
      EXPECT_EQ(values[i], static_cast<int64_t>(2 * i));
    }
  });
}

TEST_F(FusionTest, FactorsThatDifferTravelAlone) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    int64_t first = 3;
    int64_t second = 5;
    Work one = world.AllReduce(&first, &first, 1, kInt,
                               Reduction::PreMultipliedSum(world.rank() + 1), {.key = "one"});
    Work two =
        world.AllReduce(&second, &second, 1, kInt, Reduction::PreMultipliedSum(10), {.key = "two"});
    EXPECT_TRUE(one.Wait().ok());
    EXPECT_TRUE(two.Wait().ok());
    EXPECT_EQ(first, 9);
    EXPECT_EQ(second, 100);
  });
}

TEST_F(FusionTest, AMismatchNamesFieldAndRanksAndTheRestGoesOn) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<int64_t> differs(2, 7);
    int64_t good = 1;
    Work wrong = world.AllReduce(differs.data(), differs.data(), world.rank() == 2 ? 2 : 1, kInt,
                                 ReduceOp::kSum, {.key = "differs"});
    Work right = Sum(world, &good, {.key = "good"});
    const absl::Status status = wrong.Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.message()),
        ::testing::AllOf(HasSubstr("count 1 on rank 0, 2 on rank 2"), HasSubstr("differs")));
    EXPECT_EQ(differs, (std::vector<int64_t>{7, 7}));
    EXPECT_TRUE(right.Wait().ok());
    EXPECT_EQ(good, 3);
    EXPECT_TRUE(Sum(world, &good, {.key = "differs"}).Wait().ok());
  });
}

TEST_F(FusionTest, ARankThatIsLateIsNamed) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    int64_t both = 1;
    int64_t late = 1;
    if (world.rank() == 0) {
      Work work = Sum(world, &late, {.key = "late"});
      EXPECT_TRUE(Sum(world, &both, {.key = "both"}).Wait().ok());
      const absl::Status status = work.Wait(std::chrono::milliseconds(50));
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(status.message()), HasSubstr("waits for rank 1 to have it ready"));
      EXPECT_EQ(session.Close().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_TRUE(Sum(world, &both, {}).Wait().ok());
      EXPECT_TRUE(work.Wait().ok());
    } else {
      EXPECT_TRUE(Sum(world, &both, {.key = "both"}).Wait().ok());
      EXPECT_TRUE(Sum(world, &both, {}).Wait().ok());
      EXPECT_TRUE(Sum(world, &late, {.key = "late"}).Wait().ok());
    }
    EXPECT_EQ(late, 2);
  });
}

// Rank 0 destroys its session with an operation that rank 1 never issues.
TEST_F(FusionTest, WhatNeverComesEndsWithTheSession) {
  expect_orderly_ = false;
  StartCoordinator();
  StartAgent();
  std::thread rank_1([&] {
    auto session = *Session::Join(OptionsOf(1, 2));
    int64_t value = 1;
    EXPECT_TRUE(Sum(session->view().world(), &value, {.key = "both"}).Wait().ok());
    // Until rank 0 is gone.
    EXPECT_FALSE(session->Close(std::chrono::seconds(20)).ok());
  });
  int64_t value = 1;
  Work never;
  {
    auto session = *Session::Join(OptionsOf(0, 2));
    EXPECT_TRUE(Sum(session->view().world(), &value, {.key = "both"}).Wait().ok());
    never = Sum(session->view().world(), &value, {.key = "never"});
    EXPECT_EQ(never.Wait(std::chrono::milliseconds(20)).code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_TRUE(never.Poll());
  EXPECT_EQ(never.Wait().code(), absl::StatusCode::kAborted);
  rank_1.join();
}

}  // namespace
}  // namespace phalanx
