// Completed counts as present: how ranks say it, how a node and the sequencer use it.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ordering/launch_queue.h"
#include "ordering/node_aggregator.h"
#include "ordering/passed_lanes.h"
#include "ordering/sequencer.h"

namespace phalanx::ordering {
namespace {

constexpr Signature kSmall = {OpKind::kBroadcast, DataType::kFloat32, ReduceOp::kSum, 0, 1, 0};
constexpr Signature kLarge = {OpKind::kBroadcast, DataType::kFloat32, ReduceOp::kSum, 0, 2, 0};
const Lane kLane = Lane::Of({1});

Passed PassedBelow(uint64_t below, int rank, std::vector<uint64_t> beyond = {},
                   std::vector<Passed::Launched> launched = {}) {
  return {{{kLane, below, std::move(beyond), std::move(launched)}}, rank};
}

// --- PassedLanes
// ------------------------------------------------------------------------------------

TEST(PassedLanesTest, KnowsWhatAPartyHasCompleted) {
  PassedLanes passed;
  EXPECT_FALSE(passed.Knows(kLane));
  passed.Add(3, PassedBelow(2, 30, {4}));
  EXPECT_TRUE(passed.Knows(kLane));
  EXPECT_FALSE(passed.Knows(Lane::Of({2})));
  EXPECT_TRUE(passed.Has(3, {kLane, 1}));
  EXPECT_FALSE(passed.Has(3, {kLane, 2}));
  EXPECT_TRUE(passed.Has(3, {kLane, 4}));
  EXPECT_FALSE(passed.Has(2, {kLane, 1}));
  passed.Clear();
  EXPECT_FALSE(passed.Has(3, {kLane, 1}));
}

TEST(PassedLanesTest, KnowsWhatAScheduleLaunched) {
  PassedLanes passed;
  passed.Add(3, PassedBelow(7, 30, {}, {{4, 9, {kSmall, kLarge}}}));
  EXPECT_FALSE(passed.LaunchedAs({kLane, 3}).has_value());
  EXPECT_EQ(passed.LaunchedAs({kLane, 4})->signature, kSmall);
  EXPECT_EQ(passed.LaunchedAs({kLane, 5})->signature, kLarge);
  EXPECT_EQ(passed.LaunchedAs({kLane, 6})->signature, kSmall);
  EXPECT_EQ(passed.LaunchedAs({kLane, 6})->rank, 30);
  EXPECT_FALSE(passed.LaunchedAs({kLane, 7}).has_value());  // launched, and not complete
}

TEST(PassedLanesTest, OfAllIsWhatEachHasCompleted) {
  PassedLanes passed;
  passed.Add(0, PassedBelow(2, 0, {4, 6}, {{0, 3, {kSmall}}}));
  EXPECT_FALSE(passed.OfAll(kLane, {0, 1}).has_value());
  passed.Add(1, PassedBelow(5, 1, {}, {{0, 5, {kSmall}}}));
  const std::optional<Passed::OfLane> all = passed.OfAll(kLane, {0, 1});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->below, 2U);
  EXPECT_EQ(all->beyond, std::vector<uint64_t>{4});
  ASSERT_EQ(all->launched.size(), 1U);  // the longer one says it all
  EXPECT_EQ(all->launched[0].until, 5U);
}

// --- a rank
// -----------------------------------------------------------------------------------------

std::vector<ReportBody> Step(LaunchQueue* queue, const QueueInput& input, int64_t now_ns = 0) {
  std::vector<ReportBody> said;
  for (const QueueOutput& output : queue->Step(input, now_ns)) {
    if (const auto* up = std::get_if<ToNode>(&output)) said.push_back(up->report.body);
  }
  return said;
}

// A queue that has a schedule of kSmall, kLarge, and has launched three of its operations.
class PassedOfARankTest : public testing::Test {
 protected:
  PassedOfARankTest() : queue_({.rank = 5, .slots = 2}) {
    const uint32_t lane = queue_.LaneOf(kLane);
    Step(&queue_, FromNode{{{0, 1},
                            Certify{std::make_shared<const Schedule>(
                                Schedule{{{kLane, kSmall}, {kLane, kLarge}}, {{kLane, 0}}})}}});
    Step(&queue_, Issue{1, lane, kSmall, 0, false, ""});
    Step(&queue_, Issue{2, lane, kLarge, 0, false, ""});
    Step(&queue_, Issue{3, lane, kSmall, 0, false, ""});
    for (const uint64_t id : {1, 2}) {
      Step(&queue_, Reached{id});
      Step(&queue_, Completed{id});
    }
    Step(&queue_, Reached{3});
  }
  LaunchQueue queue_;
};

TEST_F(PassedOfARankTest, SaysWhatIsCompleteOnEnteringAnAnnouncedTerm) {
  const std::vector<ReportBody> said = Step(&queue_, FromNode{{{0, 2}, Fence{}}});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(std::get<Present>(said[0]).op.sequence, 2U);
  const auto& passed = std::get<Passed>(said[1]);
  EXPECT_EQ(passed.rank, 5);
  ASSERT_EQ(passed.lanes.size(), 1U);
  EXPECT_EQ(passed.lanes[0].below, 2U);
  EXPECT_TRUE(passed.lanes[0].beyond.empty());
  ASSERT_EQ(passed.lanes[0].launched.size(), 1U);
  EXPECT_EQ(passed.lanes[0].launched[0].first, 0U);
  EXPECT_EQ(passed.lanes[0].launched[0].until, 3U);
  EXPECT_EQ(passed.lanes[0].launched[0].entries, (std::vector<Signature>{kSmall, kLarge}));
}

TEST_F(PassedOfARankTest, DoesNotTakeBackItsPresence) {
  Step(&queue_, FromNode{{{0, 2}, Fence{}}});
  const std::vector<ReportBody> said = Step(&queue_, Completed{3});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Clear>(said[0]));
}

TEST(PassedTest, LanesWhoseMembersCompleteTogetherAreNotListed) {
  LaunchQueue queue({.rank = 0, .slots = 2});
  const uint32_t lane = queue.LaneOf(kLane);
  Signature sum = kSmall;
  sum.kind = OpKind::kAllReduce;
  Step(&queue, Issue{1, lane, sum, 0, false, ""});
  Step(&queue, Reached{1});
  Step(&queue, FromNode{{{0, 0}, Ticket{{0, 1, 0}, {}, {kLane, 0}}}});
  Step(&queue, Completed{1});
  const std::vector<ReportBody> said = Step(&queue, FromNode{{{1, 0}, Question{}}});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Clear>(said[0]));
  EXPECT_TRUE(std::holds_alternative<Held>(said[1]));
}

// --- a node
// -----------------------------------------------------------------------------------------

// Ranks 0 and 1 on node 0, rank 2 on node 1; after a fence.
class PassedOnANodeTest : public testing::Test {
 protected:
  PassedOnANodeTest() : roster_({0, 0, 1}), node_({0, true}, &roster_) {
    roster_.Add({1}, {0, 1, 2});
    roster_.Add({2}, {0, 1});
    node_.Step(FromSequencer{{{0, 1}, Fence{}}});
  }
  std::vector<NodeOutput> Say(int rank, ReportBody body) {
    return node_.Step(FromRank{rank, {{0, 1}, std::move(body)}});
  }
  Roster roster_;
  NodeAggregator node_;
};

TEST_F(PassedOnANodeTest, CountsAsPresentWhicheverComesFirst) {
  EXPECT_TRUE(Say(0, PassedBelow(2, 0)).empty());
  std::vector<NodeOutput> outputs = Say(1, Present{{kLane, 1}, kSmall, false, 1});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(std::get<Present>(std::get<ToSequencer>(outputs[0]).report.body).op.sequence, 1U);
  // Of its own ranks it gives the ticket itself.
  const Lane local = Lane::Of({2});
  EXPECT_TRUE(Say(1, Present{{local, 0}, kSmall, false, 1}).empty());
  outputs = Say(0, Passed{{{local, 1, {}, {}}}, 0});
  ASSERT_EQ(outputs.size(), 2U);
  for (const NodeOutput& output : outputs) {
    EXPECT_EQ(std::get<Ticket>(std::get<ToRank>(output).order.body).op, (OpName{local, 0}));
  }
}

TEST_F(PassedOnANodeTest, GoesUpWhenAllMembersHaveCompleted) {
  EXPECT_TRUE(Say(0, PassedBelow(2, 0)).empty());
  const std::vector<NodeOutput> outputs = Say(1, PassedBelow(1, 1));
  ASSERT_EQ(outputs.size(), 1U);
  const auto& passed = std::get<Passed>(std::get<ToSequencer>(outputs[0]).report.body);
  ASSERT_EQ(passed.lanes.size(), 1U);
  EXPECT_EQ(passed.lanes[0].below, 1U);
}

TEST_F(PassedOnANodeTest, AnotherSignatureIsFound) {
  EXPECT_TRUE(Say(0, PassedBelow(2, 0, {}, {{0, 2, {kLarge}}})).empty());
  const std::vector<NodeOutput> outputs = Say(1, Present{{kLane, 1}, kSmall, false, 1});
  ASSERT_EQ(outputs.size(), 1U);
  const auto& found = std::get<Disagreement>(std::get<ToSequencer>(outputs[0]).report.body);
  EXPECT_EQ(found.left.rank, 0);
  EXPECT_EQ(found.left.signature, kLarge);
  EXPECT_EQ(found.right.signature, kSmall);
}

// --- the sequencer
// ----------------------------------------------------------------------------------

class PassedAtTheSequencerTest : public testing::Test {
 protected:
  PassedAtTheSequencerTest() : roster_({0, 1}), sequencer_({.fewest_slots = 2}, &roster_) {
    roster_.Add({1}, {0, 1});
    sequencer_.Step(SequencerBegins{});
  }
  std::vector<SequencerOutput> Say(int node, ReportBody body) {
    return sequencer_.Step(NodeSaid{node, {sequencer_.term(), std::move(body)}});
  }
  template <typename Body>
  static int Count(const std::vector<SequencerOutput>& outputs) {
    int count = 0;
    for (const SequencerOutput& output : outputs) {
      const auto* tell = std::get_if<TellNode>(&output);
      if (tell != nullptr && std::holds_alternative<Body>(tell->order.body)) ++count;
    }
    return count;
  }
  Roster roster_;
  Sequencer sequencer_;
  uint64_t round_ = 0;  // of snapshots
};

TEST_F(PassedAtTheSequencerTest, CountsAsPresentWhicheverComesFirst) {
  EXPECT_EQ(Count<Ticket>(Say(0, PassedBelow(1, 0))), 0);
  EXPECT_EQ(Count<Ticket>(Say(1, Present{{kLane, 0}, kSmall, false, 1})), 2);
  EXPECT_EQ(Count<Ticket>(Say(1, Present{{kLane, 1}, kSmall, false, 1})), 0);
  EXPECT_EQ(Count<Ticket>(Say(0, PassedBelow(2, 0))), 2);
}

TEST_F(PassedAtTheSequencerTest, AnotherSignatureIsFound) {
  Say(1, Present{{kLane, 0}, kSmall, false, 1});
  const std::vector<SequencerOutput> outputs = Say(0, PassedBelow(1, 0, {}, {{0, 1, {kLarge}}}));
  EXPECT_EQ(Count<Ticket>(outputs), 0);
  EXPECT_EQ(Count<Verdict>(outputs), 2);
}

// Rank 1 is stuck with an operation that isn't its turn; rank 0 has completed its part.
TEST_F(PassedAtTheSequencerTest, WhatIsOverdueAndThereElsewhereFences) {
  sequencer_.Step(Suggest{{{{kLane, kSmall}}, {{kLane, 0}}}});
  ASSERT_TRUE(sequencer_.certified());
  RankSnapshot sender;
  sender.rank = 0;
  sender.issued = {{kLane, 0}};
  RankSnapshot receiver;
  receiver.rank = 1;
  receiver.issued = {{kLane, 1}};
  receiver.ops = {{{kLane, 0}, kSmall, 0, 1, true, false, "", true}};
  const auto inquire = [&] {
    Say(1, Stalled{1});
    for (const uint64_t round : {round_ + 1, round_ + 2}) {
      // Each answer shows some progress: others may be busy for ever.
      ++sender.progress;
      ++receiver.progress;
      Say(0, SnapshotPart{round, sender});
      Say(1, SnapshotPart{round, receiver});
    }
    round_ += 3;
    return sequencer_.fences();
  };
  EXPECT_EQ(inquire(), 0U);  // rank 0 hasn't issued it
  sender.issued[0].next = 1;
  receiver.ops[0].overdue = false;
  EXPECT_EQ(inquire(), 0U);  // rank 1 may launch it any moment
  receiver.ops[0].overdue = true;
  EXPECT_EQ(inquire(), 1U);
  EXPECT_FALSE(sequencer_.certified());
}

}  // namespace
}  // namespace phalanx::ordering
