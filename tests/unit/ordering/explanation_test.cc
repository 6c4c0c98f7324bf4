// An example report of each kind, in full.
#include "ordering/explanation.h"

#include <map>
#include <utility>

#include "gtest/gtest.h"
#include "ordering/explain.h"

namespace phalanx::ordering {
namespace {

using State = ThreadView::State;

constexpr Signature kSum = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};
const OpName kA = {Lane::Of({1}), 0};
const OpName kB = {Lane::Of({2}), 0};

Roster TwoRanks() {
  Roster roster({0, 0});
  roster.Add({1}, {0, 1});
  roster.Add({2}, {0, 1});
  return roster;
}

OpView View(const OpName& op, uint64_t unit, bool present) {
  return {op, kSum, 0, unit, present, false, "train.py:12"};
}

RankSnapshot Snapshot(int rank, std::vector<OpView> ops, ThreadView thread) {
  RankSnapshot snapshot;
  snapshot.rank = rank;
  for (const OpView& op : ops) snapshot.issued.push_back({op.name.lane, op.name.sequence + 1});
  snapshot.ops = std::move(ops);
  snapshot.threads = {std::move(thread)};
  return snapshot;
}

std::string TextOf(const std::map<int, RankSnapshot>& snapshots) {
  const std::optional<Explanation> explanation = Explain(TwoRanks(), snapshots);
  return explanation.has_value() ? Describe(*explanation) : "nothing";
}

TEST(ExplanationTest, CycleOfHosts) {
  EXPECT_EQ(
      TextOf({{0, Snapshot(0, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})},
              {1, Snapshot(1, {View(kB, 1, true)}, {State::kWaiting, {kB}, false})}}),
      "cycle: operations wait for each other\n"
      "  rank 1: communicator 1, operation 0 isn't issued: the host waits for communicator 2, "
      "operation 0\n"
      "  rank 0: communicator 2, operation 0 isn't issued: the host waits for communicator 1, "
      "operation 0\n"
      "  issue these operations in one order on all ranks, or wait for them after all are "
      "issued; where only the order on one communicator differs, give the operations keys\n");
}

TEST(ExplanationTest, CycleOfStreams) {
  EXPECT_EQ(
      TextOf(
          {{0, Snapshot(0, {View(kA, 1, true), View(kB, 2, false)}, {State::kOutside, {}, false})},
           {1,
            Snapshot(1, {View(kB, 1, true), View(kA, 2, false)}, {State::kOutside, {}, false})}}),
      "cycle: operations wait for each other\n"
      "  rank 1: communicator 1, operation 0 (all_reduce of 1024 float (sum)) on stream 0 at "
      "train.py:12 stands in its stream behind communicator 2, operation 0\n"
      "  rank 0: communicator 2, operation 0 (all_reduce of 1024 float (sum)) on stream 0 at "
      "train.py:12 stands in its stream behind communicator 1, operation 0\n"
      "  issue these operations in one order on all ranks, or wait for them after all are "
      "issued; where only the order on one communicator differs, give the operations keys\n");
}

TEST(ExplanationTest, AbsentRank) {
  EXPECT_EQ(
      TextOf({{0, Snapshot(0, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})},
              {1, Snapshot(1, {}, {State::kEnded, {}, false})}}),
      "absent rank: a rank issues no more operations, and others wait for one\n"
      "  rank 1: communicator 1, operation 0 isn't issued, and no thread is left to issue it\n"
      "  make every rank issue the same operations; look for a branch or a last batch that only "
      "some ranks take\n");
}

TEST(ExplanationTest, RankBehind) {
  EXPECT_EQ(TextOf({{0, Snapshot(0, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})},
                    {1, Snapshot(1, {}, {State::kOutside, {}, false})}}),
            "rank behind: a rank hasn't issued an operation that others wait for\n"
            "  rank 1: communicator 1, operation 0 isn't issued yet (1 behind)\n"
            "  see what that rank is doing: it computes, or it waits outside of the library\n");
}

TEST(ExplanationTest, DeviceWait) {
  RankSnapshot holds = Snapshot(0, {View(kA, 1, true)}, {State::kWaiting, {kA}, true});
  holds.device_held = true;
  EXPECT_EQ(
      TextOf({{0, holds}, {1, Snapshot(1, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})}}),
      "device wait: a wait for the whole device keeps an operation from being launched\n"
      "  rank 0: communicator 1, operation 0 (all_reduce of 1024 float (sum)) on stream 0 at "
      "train.py:12 isn't launched: the device is held by a wait for communicator 1, operation 0\n"
      "  wait for the operation or its stream in place of the whole device\n");
}

TEST(ExplanationTest, Mismatch) {
  Signature other = kSum;
  other.count = 1022;
  EXPECT_EQ(
      Describe(ExplainMismatch(kA, {0, kSum}, {1, other})),
      "mismatch: ranks disagree about an operation: count 1024 on rank 0, 1022 on rank 1\n"
      "  rank 0: communicator 1, operation 0 (all_reduce of 1024 float (sum)) was issued with "
      "these arguments\n"
      "  rank 1: communicator 1, operation 0 (all_reduce of 1022 float (sum)) was issued with "
      "these arguments\n"
      "  pass the same values on all ranks; if the ranks mean different operations, issue them "
      "in one order or give them keys\n");
}

// Present on both: only on its way.
TEST(ExplanationTest, NothingToExplain) {
  EXPECT_EQ(TextOf({{0, Snapshot(0, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})},
                    {1, Snapshot(1, {View(kA, 1, true)}, {State::kWaiting, {kA}, false})}}),
            "nothing");
}

}  // namespace
}  // namespace phalanx::ordering
