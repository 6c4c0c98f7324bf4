// Operations with keys: each rank issues them in an order of its own, and they still meet.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

constexpr DataType kFloat = DataType::kFloat32;

uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* const given = std::getenv("PHALANX_TEST_SEED");
    const uint64_t chosen =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::printf("PHALANX_TEST_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

// The n-th operation of one lane (a key, or the operations without one), equal on all ranks: its
// kind, size and values depend on both.
class Op {
 public:
  static constexpr size_t kCounts[] = {1, 2, 60, 5'000, 70'000};
  static constexpr int kKinds = 5;

  Op(int lane, int use) : lane_(lane), use_(use) {}

  void Start(Communicator* communicator, const OpOptions& options) {
    rank_ = communicator->rank();
    size_ = communicator->size();
    const auto size = static_cast<size_t>(size_);
    send_.resize(count() * size);
    receive_.assign(count() * size, -1.0f);
    for (size_t i = 0; i < send_.size(); ++i) send_[i] = Value(rank_, i);
    switch (lane_ % kKinds) {
      case 0:
        work_ = communicator->AllReduce(send_.data(), receive_.data(), count(), kFloat,
                                        ReduceOp::kSum, options);
        break;
      case 1:
        work_ = communicator->Broadcast(send_.data(), receive_.data(), count(), kFloat, root(),
                                        options);
        break;
      case 2:
        work_ = communicator->AllGather(send_.data(), receive_.data(), count(), kFloat, options);
        break;
      case 3:
        work_ = communicator->AllToAll(send_.data(), receive_.data(), count(), kFloat, options);
        break;
      default:
        work_ = communicator->ReduceScatter(send_.data(), receive_.data(), count(), kFloat,
                                            ReduceOp::kMax, options);
    }
  }

  void Check() {
    const absl::Status status = work_.Wait();
    ASSERT_TRUE(status.ok()) << status;
    const bool one_part = lane_ % kKinds == 0 || lane_ % kKinds == 1 || lane_ % kKinds == 4;
    const size_t received = one_part ? count() : receive_.size();
    for (size_t i = 0; i < received; ++i) {
      ASSERT_EQ(receive_[i], Expected(i)) << "lane " << lane_ << ", use " << use_ << ", " << i;
    }
  }

 private:
  size_t count() const { return kCounts[static_cast<size_t>(lane_ + use_) % std::size(kCounts)]; }
  int root() const { return (lane_ + use_) % size_; }
  float Value(int rank, size_t i) const {
    return static_cast<float>((static_cast<size_t>(lane_) * 31 + static_cast<size_t>(use_) * 17 +
                               static_cast<size_t>(rank) * 7 + i) %
                              997);
  }
  float Expected(size_t i) const {
    const size_t part = i / count();
    const size_t mine = static_cast<size_t>(rank_) * count();
    float sum = 0;
    float most = 0;
    for (int rank = 0; rank < size_; ++rank) {
      sum += Value(rank, i);
      most = std::max(most, Value(rank, mine + i));
    }
    switch (lane_ % kKinds) {
      case 0:
        return sum;
      case 1:
        return Value(root(), i);
      case 2:
        return Value(static_cast<int>(part), i % count());
      case 3:
        return Value(static_cast<int>(part), mine + i % count());
      default:
        return most;
    }
  }

  const int lane_;
  const int use_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<float> send_;
  std::vector<float> receive_;
  Work work_;
};

std::string KeyOf(int lane) { return "layer" + std::to_string(lane) + ".weight"; }

class KeysTest : public Ranks, public ::testing::WithParamInterface<std::tuple<const char*, int>> {
 protected:
  static constexpr int kKeys = 50;
  static constexpr int kUses = 3;

  void SetUp() override { transport_ = std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }

  // Every use of every lane, in an order of this rank's own. The last lane has no key.
  static std::vector<std::unique_ptr<Op>> IssueAll(
      Communicator* world, const std::function<Stream*(int lane)>& stream_of) {
    std::mt19937_64 random(Seed() + static_cast<uint64_t>(world->rank()));
    std::vector<int> order;
    for (int i = 0; i < (kKeys + 1) * kUses; ++i) order.push_back(i % (kKeys + 1));
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int> uses(kKeys + 1, 0);
    std::vector<std::unique_ptr<Op>> ops;
    for (const int lane : order) {
      ops.push_back(std::make_unique<Op>(lane, uses[static_cast<size_t>(lane)]++));
      // The key's text is gone when the call returns.
      const std::string key = lane == kKeys ? "" : KeyOf(lane);
      OpOptions options;
      options.key = key;
      options.stream = stream_of(lane);
      ops.back()->Start(world, options);
    }
    std::shuffle(ops.begin(), ops.end(), random);
    return ops;
  }
};

TEST_P(KeysTest, MeetInWhateverOrder) {
  Run(size(), [](Session& session) {
    for (const auto& op : IssueAll(&session.view().world(), [](int) { return nullptr; })) {
      op->Check();
    }
  });
}

TEST_P(KeysTest, MeetOnStreamsOfTheirOwn) {
  Run(size(), [](Session& session) {
    std::vector<std::unique_ptr<Stream>> streams(kKeys + 1);
    const auto stream_of = [&](int lane) {
      auto& stream = streams[static_cast<size_t>(lane)];
      if (stream == nullptr) stream = *session.CreateStream();
      return stream.get();
    };
    for (const auto& op : IssueAll(&session.view().world(), stream_of)) op->Check();
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, KeysTest,
                         ::testing::Combine(::testing::Values("shm", "ucx", "ofi"),
                                            ::testing::Values(2, 4)),
                         [](const auto& chosen) {
                           return std::string(std::get<0>(chosen.param)) + "_" +
                                  std::to_string(std::get<1>(chosen.param));
                         });

using KeyedTest = Ranks;

TEST_F(KeyedTest, AGroupOnOneStreamInOppositeOrders) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    auto stream = *session.CreateStream();
    Op x(0, 0);
    Op y(5, 1);
    Group group;
    OpOptions options;
    options.stream = stream.get();
    options.group = &group;
    for (const char* key : world.rank() == 0 ? std::vector{"x", "y"} : std::vector{"y", "x"}) {
      options.key = key;
      (*key == 'x' ? x : y).Start(&world, options);
    }
    ASSERT_TRUE(group.Launch().Wait().ok());
    x.Check();
    y.Check();
  });
}

TEST_F(KeyedTest, KeysOfTwoCommunicatorsAreTwo) {
  Run(4, [](Session& session) {
    Communicator& world = session.view().world();
    auto half = world.Split(world.rank() % 2, world.rank());
    ASSERT_TRUE(half.ok()) << half.status();
    Op ours(0, 0);
    Op theirs(0, 1);
    OpOptions options;
    options.key = "loss";
    if (world.rank() < 2) ours.Start(half->get(), options);
    theirs.Start(&world, options);
    if (world.rank() >= 2) ours.Start(half->get(), options);
    ours.Check();
    theirs.Check();
  });
}

TEST_F(KeyedTest, PartsOfUnequalSize) {
  Run(3, [](Session& session) {
    Communicator& world = session.view().world();
    const std::vector<uint64_t> counts = {1, 0, 2};
    const std::vector<int32_t> mine(counts[static_cast<size_t>(world.rank())], world.rank());
    std::vector<int32_t> all[2] = {{-1, -1, -1}, {-1, -1, -1}};
    std::vector<Work> works;
    for (int i = 0; i < 2; ++i) {
      const int which = (i + world.rank()) % 2;
      OpOptions options;
      options.key = which == 0 ? "a" : "b";
      works.push_back(world.AllGather(mine.data(), all[which].data(), Parts{counts, {}},
                                      DataType::kInt32, options));
    }
    for (Work& work : works) ASSERT_TRUE(work.Wait().ok());
    for (const auto& gathered : all) EXPECT_EQ(gathered, (std::vector<int32_t>{0, 2, 2}));
  });
}

TEST_F(KeyedTest, OneRankAlone) {
  Run(1, [](Session& session) {
    OpOptions options;
    options.key = "alone";
    for (int use = 0; use < 3; ++use) {
      Op op(0, use);
      op.Start(&session.view().world(), options);
      op.Check();
    }
  });
}

TEST_F(KeyedTest, MessagesTakeNone) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    float value = 1.0f;
    OpOptions options;
    options.key = "activations";
    for (const absl::Status& status :
         {world.Send(&value, 1, kFloat, 1 - world.rank(), options).Wait(),
          world.Receive(&value, 1, kFloat, 1 - world.rank(), options).Wait()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("key \"activations\" given, but messages take none"));
    }
  });
}

TEST_F(KeyedTest, KeysOfOneHashAreRefused) {
  Run(2, [](Session& session) {
    OpOptions options;
    options.key = "8yn0iYCKYHlIj4-BwPqk";  // the two are known to have one FNV-1a hash
    ASSERT_TRUE(session.view().world().Barrier(options).Wait().ok());
    options.key = "GReLUrM4wMqfg9yzV3KQ";
    const absl::Status status = session.view().world().Barrier(options).Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rename one of them"));
  });
}

TEST_F(KeyedTest, TheDeadlineNamesTheKeyAndHarmsNothing) {
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    Op late(0, 0);
    OpOptions options;
    options.key = "layer3.weight";
    if (world.rank() == 0) {
      float value = 1.0f;
      options.timeout = std::chrono::milliseconds(100);
      Work work = world.AllReduce(&value, &value, 1, kFloat, ReduceOp::kSum, options);
      const absl::Status status = work.Wait();
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
      EXPECT_THAT(
          std::string(status.message()),
          HasSubstr("all_reduce key \"layer3.weight\" #0 (sum of 1 float) on communicator 0 isn't "
                    "complete in time on rank 0 and waits for rank 1"));
      ASSERT_TRUE(world.Barrier().Wait().ok());
      EXPECT_TRUE(work.Wait().ok());
      EXPECT_EQ(value, 3.0f);
    } else {
      ASSERT_TRUE(world.Barrier().Wait().ok());
      float value = 2.0f;
      EXPECT_TRUE(world.AllReduce(&value, &value, 1, kFloat, ReduceOp::kSum, options).Wait().ok());
    }
  });
}

// What ends one ends all, also those that only one rank has issued.
TEST_F(KeyedTest, EndWithTheView) {
  expect_orderly_ = false;
  Run(2, [](Session& session) {
    Communicator& world = session.view().world();
    std::vector<float> values(64, 1.0f);
    std::vector<Work> works;
    for (int i = 0; i < 60; ++i) {
      const std::string key = KeyOf(i % 8 + 8 * world.rank());
      OpOptions options;
      options.key = key;
      float* const mine = &values[static_cast<size_t>(i)];
      works.push_back(world.AllReduce(mine, mine, 1, kFloat, ReduceOp::kSum, options));
    }
    OpOptions options;
    options.key = "differs";
    works.push_back(world.AllReduce(&values[60], &values[60], world.rank() == 0 ? 1 : 2, kFloat,
                                    ReduceOp::kSum, options));
    for (Work& work : works) {
      const absl::Status status = work.Wait();
      EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnavailable(status)) << status;
    }
  });
}

}  // namespace
}  // namespace phalanx
