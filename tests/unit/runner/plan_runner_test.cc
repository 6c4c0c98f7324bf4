#include "runner/plan_runner.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plan/planner.h"
#include "sim/network.h"

// Counts allocations while a test asks for it.
namespace {
std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
}  // namespace

// Not inlined: GCC would take the malloc() and free() inside for a mistaken pair with others' new.
#define PHALANX_NOT_INLINED __attribute__((noinline))
PHALANX_NOT_INLINED void* operator new(size_t bytes) {
  if (counting) ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  std::abort();
}
PHALANX_NOT_INLINED void operator delete(void* memory) noexcept { std::free(memory); }
PHALANX_NOT_INLINED void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace phalanx::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = PlanRunner::State;

constexpr size_t kBudget = size_t{1} << 30;

std::shared_ptr<const plan::Plan> AllReducePlan(int rank, int size, bool shares_memory,
                                                uint64_t count) {
  plan::Collective collective;
  collective.kind = plan::CollectiveKind::kAllReduce;
  collective.type = DataType::kFloat32;
  collective.count = count;
  plan::Group group;
  group.rank = rank;
  group.size = size;
  group.shares_memory = shares_memory;
  return std::make_shared<const plan::Plan>(*plan::MakePlan(collective, group));
}

// A group in which every peer is always ready and holds ones.
class ReadyGroup : public spi::GroupTransport {
 public:
  explicit ReadyGroup(int size) : size_(size), ones_(size_t{1} << 20, 1.0f) {}

  int rank() const override { return 0; }
  int size() const override { return size_; }
  absl::Status Begin(const spi::GroupOperation& operation) override {
    begun = operation;
    ++open;
    return absl::OkStatus();
  }
  std::byte* scratch() override { return nullptr; }
  bool TryPublish(const spi::Publish&) override { return publishes; }
  void Raise(uint8_t, uint32_t) override {}
  bool Reached(int peer, uint8_t, uint32_t) override { return peer != late_peer; }
  absl::StatusOr<const std::byte*> Read(int peer, Region, size_t offset, size_t, uint32_t,
                                        std::byte*) override {
    if (peer == dead_peer) return absl::UnavailableError("rank 2 is gone");
    return reinterpret_cast<const std::byte*>(ones_.data()) + offset;
  }
  absl::Status ReadInto(int, Region, size_t offset, size_t bytes, uint32_t,
                        std::byte* destination) override {
    std::copy_n(reinterpret_cast<const std::byte*>(ones_.data()) + offset, bytes, destination);
    return absl::OkStatus();
  }
  uint64_t factor_bits(int) override { return 0; }
  absl::Status CheckMembers() override {
    return differs ? spi::OtherOperation(2) : absl::OkStatus();
  }
  absl::Status End() override {
    --open;
    return withdrawn_by_peer ? absl::AbortedError("rank 2 gave up") : absl::OkStatus();
  }
  void Withdraw() override {
    --open;
    ++withdrawals;
  }
  void Wait(int peer, uint8_t signal, uint32_t, Clock::duration) override {
    waited = {peer, signal};
  }
  void WaitToPublish(const spi::Publish&, Clock::duration) override { ++waits_to_publish; }
  void Abort() override {}

  spi::GroupOperation begun;
  int open = 0;
  int withdrawals = 0;
  bool withdrawn_by_peer = false;
  bool differs = false;
  bool publishes = true;
  int late_peer = -1;
  int dead_peer = -1;
  std::pair<int, int> waited{-1, -1};
  int waits_to_publish = 0;

 private:
  const int size_;
  const std::vector<float> ones_;
};

class Buffers {
 public:
  explicit Buffers(size_t count) : input(count, 1.0f), output(count, 0.0f) {}
  RunContext Context(spi::GroupTransport* group) {
    RunContext context;
    context.input = reinterpret_cast<const std::byte*>(input.data());
    context.output = reinterpret_cast<std::byte*>(output.data());
    context.group = group;
    return context;
  }
  std::vector<float> input;
  std::vector<float> output;
};

State MustAdvance(PlanRunner* runner, size_t budget = kBudget) {
  const absl::StatusOr<State> state = runner->Advance(budget);
  EXPECT_TRUE(state.ok()) << state.status();
  return state.value_or(State::kBlocked);
}

TEST(PlanRunner, RunsAgainAndAgainWithoutAllocating) {
  for (const uint64_t count : {uint64_t{100}, uint64_t{100'000}}) {
    ReadyGroup group(4);
    Buffers buffers(count);
    PlanRunner runner(AllReducePlan(0, 4, true, count), nullptr);
    RunContext context = buffers.Context(&group);
    allocations = 0;
    for (uint64_t i = 0; i <= 3; ++i) {
      counting = i > 0;  // the first reduction of a process chooses its kernels
      context.group_sequence = i;
      ASSERT_TRUE(runner.Start(context).ok());
      while (MustAdvance(&runner) != State::kComplete) continue;
    }
    counting = false;
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(group.begun.sequence, 3u);
    EXPECT_EQ(group.begun.input_bytes, count * sizeof(float));
    EXPECT_EQ(group.open, 0);
    EXPECT_TRUE(runner.idle());
    EXPECT_EQ(buffers.output[0], 4.0f);
    // Rank 0's block is its own sum, the others are what the peers published.
    EXPECT_EQ(buffers.output[count - 1], count == 100 ? 4.0f : 1.0f);
  }
}

TEST(PlanRunner, FindsThatWhoItWaitsForMeansAnotherOperation) {
  ReadyGroup group(4);
  group.late_peer = 2;
  group.differs = true;
  Buffers buffers(100);
  PlanRunner runner(AllReducePlan(0, 4, true, 100), nullptr);
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(MustAdvance(&runner), State::kMoved);
  EXPECT_EQ(MustAdvance(&runner), State::kBlocked);  // a short wait isn't lengthened
  const absl::StatusOr<State> state = runner.Advance(1 << 20);
  EXPECT_EQ(state.status().code(), absl::StatusCode::kInvalidArgument) << state.status();
  EXPECT_EQ(group.withdrawals, 1);
  EXPECT_TRUE(runner.idle());
}

TEST(PlanRunner, SaysWhomItWaitsFor) {
  ReadyGroup group(4);
  Buffers buffers(100);
  PlanRunner runner(AllReducePlan(0, 4, true, 100), nullptr);
  EXPECT_THAT(runner.Missing(), ElementsAre());
  group.publishes = false;
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(MustAdvance(&runner), State::kBlocked);
  EXPECT_TRUE(runner.WaitOnGroup(std::chrono::milliseconds(1)));
  EXPECT_EQ(group.waits_to_publish, 1);
  group.publishes = true;
  group.late_peer = 2;
  EXPECT_EQ(MustAdvance(&runner), State::kMoved);
  EXPECT_EQ(MustAdvance(&runner), State::kBlocked);
  EXPECT_THAT(runner.Missing(), ElementsAre(2));
  EXPECT_THAT(runner.Describe(), HasSubstr("one-shot, round 0 of 1: step 1 (await) rank 2"));
  EXPECT_TRUE(runner.WaitOnGroup(std::chrono::milliseconds(1)));
  EXPECT_EQ(group.waited, std::make_pair(2, 0));
  group.late_peer = -1;
  EXPECT_EQ(MustAdvance(&runner), State::kComplete);
  EXPECT_EQ(runner.Describe(), "complete");
  EXPECT_FALSE(runner.WaitOnGroup(std::chrono::milliseconds(1)));
}

TEST(PlanRunner, LooksUpWhenTheBudgetIsSpent) {
  ReadyGroup group(4);
  const size_t count = 200'000;
  Buffers buffers(count);
  PlanRunner runner(AllReducePlan(0, 4, true, count), nullptr);
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  int looks = 1;
  while (MustAdvance(&runner, 1) == State::kMoved) ++looks;
  EXPECT_GT(looks, 10);
  EXPECT_EQ(buffers.output[0], 4.0f);
}

TEST(PlanRunner, EndsWithTheErrorOfTheStepThatFailed) {
  ReadyGroup group(4);
  Buffers buffers(100);
  PlanRunner runner(AllReducePlan(0, 4, true, 100), nullptr);
  group.dead_peer = 2;
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(runner.Advance(kBudget).status(), absl::UnavailableError("rank 2 is gone"));
  EXPECT_EQ(group.open, 0);
  EXPECT_EQ(runner.Advance(kBudget).status(), absl::UnavailableError("rank 2 is gone"));
  group.dead_peer = -1;
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(MustAdvance(&runner), State::kComplete);
}

TEST(PlanRunner, CancelClosesTheOperation) {
  ReadyGroup group(4);
  Buffers buffers(100);
  PlanRunner runner(AllReducePlan(0, 4, true, 100), nullptr);
  group.late_peer = 1;
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(MustAdvance(&runner), State::kMoved);
  EXPECT_EQ(group.open, 1);
  runner.Cancel();
  EXPECT_EQ(group.open, 0);
  EXPECT_EQ(group.withdrawals, 1);
  EXPECT_TRUE(runner.idle());
}

TEST(PlanRunner, IsntCompleteWhenAPeerWithdrewWhatItRead) {
  ReadyGroup group(4);
  Buffers buffers(100);
  PlanRunner runner(AllReducePlan(0, 4, true, 100), nullptr);
  group.withdrawn_by_peer = true;
  ASSERT_TRUE(runner.Start(buffers.Context(&group)).ok());
  EXPECT_EQ(runner.Advance(kBudget).status(), absl::AbortedError("rank 2 gave up"));
  EXPECT_EQ(runner.Advance(kBudget).status(), absl::AbortedError("rank 2 gave up"));
  EXPECT_EQ(group.open, 0);
  EXPECT_EQ(group.withdrawals, 0);
}

TEST(PlanRunner, RefusesAContextThatLacksWhatThePlanNeeds) {
  Buffers buffers(100);
  PlanRunner in_memory(AllReducePlan(0, 4, true, 100), nullptr);
  EXPECT_EQ(in_memory.Start(buffers.Context(nullptr)).code(),
            absl::StatusCode::kFailedPrecondition);
  PlanRunner over_links(AllReducePlan(0, 4, false, 100), nullptr);
  EXPECT_EQ(over_links.Start(buffers.Context(nullptr)).code(),
            absl::StatusCode::kFailedPrecondition);
}

// A peer that dies: its neighbours' runs end with what their links say.
TEST(PlanRunner, TellsOfAPeerThatDies) {
  sim::Network network({});
  std::vector<std::unique_ptr<spi::Wire>> wires;
  for (int rank = 0; rank < 2; ++rank) {
    wires.push_back(network.OpenWire());
    spi::Identity identity;
    identity.rank = rank;
    wires.back()->SetIdentity(identity);
  }
  std::unique_ptr<spi::Link> link = *wires[0]->Connect({1, {}}, wires[1]->address());
  std::unique_ptr<spi::Link> back = *wires[1]->Connect({0, {}}, wires[0]->address());
  Buffers buffers(1 << 20);
  PlanRunner runner(AllReducePlan(0, 2, false, 1 << 20), nullptr);
  RunContext context = buffers.Context(nullptr);
  const std::vector<spi::Link*> links = {nullptr, link.get()};
  context.links = links;
  ASSERT_TRUE(runner.Start(context).ok());
  EXPECT_EQ(MustAdvance(&runner), State::kMoved);
  EXPECT_FALSE(runner.idle());
  EXPECT_THAT(runner.Missing(), ElementsAre(1));
  EXPECT_FALSE(runner.WaitOnGroup(std::chrono::milliseconds(1)));
  network.Kill(1);
  absl::Status status;
  while (status.ok() && network.Step()) {
    wires[0]->Progress();
    status = runner.Advance(kBudget).status();
  }
  EXPECT_EQ(status, absl::UnavailableError("rank 1 is gone"));
  EXPECT_TRUE(runner.idle());
}

}  // namespace
}  // namespace phalanx::engine
