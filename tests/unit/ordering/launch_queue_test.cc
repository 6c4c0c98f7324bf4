#include "ordering/launch_queue.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace phalanx::ordering {
namespace {

constexpr Signature kSum = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};
constexpr int64_t kNotLaunched = CertifiedRun::kNotLaunched;

class LaunchQueueTest : public testing::Test {
 protected:
  LaunchQueueTest() : queue_({.rank = 0, .slots = 2}) {
    lane_a_ = queue_.LaneOf(Lane::Of({1}));
    lane_b_ = queue_.LaneOf(Lane::Of({2}));
  }

  std::vector<uint64_t> Step(const QueueInput& input) {
    std::vector<uint64_t> launched;
    reports_.clear();
    for (const QueueOutput& output : queue_.Step(input, 0)) {
      if (const auto* launch = std::get_if<Launch>(&output)) launched.push_back(launch->id);
      if (const auto* report = std::get_if<ToNode>(&output)) reports_.push_back(report->report);
    }
    return launched;
  }
  std::vector<uint64_t> Issue(uint64_t id, uint32_t lane, uint32_t stream) {
    return Step(ordering::Issue{id, lane, kSum, stream, false, ""});
  }

  // The schedule a, b from the next operations on.
  void Certify() {
    Schedule schedule{{{Lane::Of({1}), kSum}, {Lane::Of({2}), kSum}},
                      {{Lane::Of({1}), 1}, {Lane::Of({2}), 0}}};
    // Streams are known from earlier operations.
    EXPECT_TRUE(Issue(1, lane_a_, 1).empty());
    Step(Reached{1});
    EXPECT_EQ(Step(FromNode{{{0, 0}, Ticket{{0, 1, 0}, {}, {Lane::Of({1}), 0}}}}),
              std::vector<uint64_t>{1});
    Step(Completed{1});
    Step(FromNode{{{0, 1}, ordering::Certify{std::make_shared<const Schedule>(schedule)}}});
    EXPECT_TRUE(queue_.certified());
  }

  LaunchQueue queue_;
  uint32_t lane_a_ = 0;
  uint32_t lane_b_ = 0;
  std::vector<Report> reports_;
};

TEST_F(LaunchQueueTest, AnnouncesWhatItsStreamHasReached) {
  EXPECT_TRUE(Issue(1, lane_a_, 0).empty());
  EXPECT_TRUE(reports_.empty());
  Step(Reached{1});
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(std::get<Present>(reports_[0].body).op, (OpName{Lane::Of({1}), 0}));
}

TEST_F(LaunchQueueTest, TheCertifiedPathLaunchesWithoutAWord) {
  Certify();
  const uint64_t hash = HashOf(kSum);
  const int64_t first = queue_.TryLaunch(lane_a_, hash, 0, 2);
  EXPECT_NE(first, kNotLaunched);
  EXPECT_EQ(queue_.TryLaunch(lane_a_, hash, 0, 3), kNotLaunched);  // b is next
  EXPECT_NE(queue_.TryLaunch(lane_b_, hash, 0, 3), kNotLaunched);
  EXPECT_TRUE(queue_.CompleteLaunched(first));
  EXPECT_FALSE(queue_.CompleteLaunched(first + 100));
}

TEST_F(LaunchQueueTest, SpeculationLeavesTheLastSlot) {
  Certify();
  const uint64_t hash = HashOf(kSum);
  const int64_t first = queue_.TryLaunch(lane_a_, hash, 0, 2);
  ASSERT_NE(first, kNotLaunched);
  EXPECT_EQ(queue_.TryLaunch(lane_b_, hash, 1, 3), kNotLaunched);  // another stream
  EXPECT_TRUE(Issue(3, lane_b_, 1).empty());
  EXPECT_TRUE(Step(Reached{3}).empty());
  // Room is made; the queue wants to be told by Step(), since something waits.
  EXPECT_FALSE(queue_.CompleteLaunched(first));
  EXPECT_EQ(Step(Completed{2}), std::vector<uint64_t>{3});
}

TEST_F(LaunchQueueTest, AnotherSignatureDiverges) {
  Certify();
  Signature other = kSum;
  other.count = 7;
  EXPECT_EQ(queue_.TryLaunch(lane_a_, HashOf(other), 0, 2), kNotLaunched);
  EXPECT_TRUE(Step(ordering::Issue{2, lane_a_, other, 0, false, ""}).empty());
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(std::get<Diverged>(reports_[0].body).op, (OpName{Lane::Of({1}), 1}));
}

TEST_F(LaunchQueueTest, AFenceAnnouncesWhatWasLaunched) {
  Certify();
  const int64_t position = queue_.TryLaunch(lane_a_, HashOf(kSum), 0, 2);
  ASSERT_TRUE(queue_.ReachLaunched(position));
  Step(FromNode{{{0, 2}, Fence{}}});
  ASSERT_EQ(reports_.size(), 1U);  // and no Clear
  EXPECT_TRUE(std::get<Present>(reports_[0].body).launched);
  EXPECT_FALSE(queue_.CompleteLaunched(position));
  Step(Completed{2});
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Done>(reports_[0].body));
  EXPECT_TRUE(std::holds_alternative<Clear>(reports_[1].body));
}

TEST_F(LaunchQueueTest, AQuestionTakesBackUnlaunchedTickets) {
  for (uint64_t id = 1; id <= 3; ++id) {
    Issue(id, lane_a_, static_cast<uint32_t>(id));
    Step(Reached{id});
  }
  TicketNumber previous;
  for (uint64_t i = 0; i < 3; ++i) {
    const TicketNumber number{0, i + 1, 0};
    const auto launched = Step(FromNode{{{0, 0}, Ticket{number, previous, {Lane::Of({1}), i}}}});
    EXPECT_EQ(launched.size(), i < 2 ? 1U : 0U);  // two slots
    previous = number;
  }
  Step(FromNode{{{1, 0}, Question{}}});
  ASSERT_EQ(reports_.size(), 3U);
  EXPECT_EQ(std::get<Present>(reports_[0].body).op.sequence, 2U);
  EXPECT_TRUE(std::holds_alternative<Clear>(reports_[1].body));
  EXPECT_EQ(std::get<Held>(reports_[2].body).tickets.size(), 2U);
  // What the dead sequencer still sends is of another term.
  EXPECT_TRUE(Step(FromNode{{{0, 0}, Ticket{{0, 4, 0}, previous, {Lane::Of({1}), 2}}}}).empty());
}

TEST_F(LaunchQueueTest, RunAheadYields) {
  LaunchQueue queue({.rank = 0, .slots = 2, .run_ahead = 1});
  const uint32_t lane = queue.LaneOf(Lane::Of({1}));
  EXPECT_FALSE(queue.MustWait(0));
  queue.Step(ordering::Issue{1, lane, kSum, 0, false, ""}, 0);
  EXPECT_FALSE(queue.MustWait(0));  // it may be the next one that the others wait for
  queue.Step(Reached{1}, 0);
  queue.Step(FromNode{{{0, 0}, Ticket{{0, 1, 0}, {}, {Lane::Of({1}), 0}}}}, 0);
  EXPECT_TRUE(queue.MustWait(0));  // it is on its way
}

}  // namespace
}  // namespace phalanx::ordering
