#include "membership/succession.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace phalanx::membership {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Three voters, 1 to 3, on nodes 0 to 2; node 3 has none.
const VoterSets kVoters = {{{1}, {2}, {3}}, {}};

Lead LeadOf(uint64_t round, uint64_t life, uint64_t node) {
  return Lead{{round, {life}}, kVoters, {{life}, node, absl::StrCat("of ", life)}, {0, 1, 2}};
}

// A node whose voters answer at once, until they are cut off. Outputs but questions are noted with
// their time in ms.
class Node {
 public:
  explicit Node(uint64_t node) : succession_(Settings(node)) { Feed(Wake{}); }

  void RunTo(int ms) {
    const auto until = Clock::time_point(milliseconds(ms));
    while (succession_.WakeAt() <= until) {
      now_ = std::max(now_, succession_.WakeAt());
      Feed(Wake{});
    }
    now_ = until;
  }
  // As if the process had not run until then.
  void SleepTo(int ms) { now_ = Clock::time_point(milliseconds(ms)); }

  void Feed(const SuccessionInput& input) {
    uint64_t question = 0;
    for (const SuccessionOutput& output : succession_.Step(input, now_)) {
      if (const auto* ask = std::get_if<AskVoters>(&output)) {
        question = ask->question;
      } else {
        Note(output);
      }
    }
    if (question > 0 && answering_) Answer(question, {1, 2});
  }
  void Answer(uint64_t question, const std::vector<uint64_t>& voters) {
    for (const uint64_t voter : voters) Feed(LeadTold{{voter}, question, accepted_});
  }
  // From now on voters 1 and 2 have accepted it.
  void Accept(const Lead& lead) {
    accepted_ = lead;
    Answer(0, {1, 2});
  }
  // What has happened since the last call.
  std::vector<std::string> Happened() { return std::exchange(happened_, {}); }

  Succession& succession() { return succession_; }
  ProposerId started() const { return started_.life; }
  ProposerId replaced() const { return started_.replaces; }
  void set_answering(bool answering) { answering_ = answering; }

 private:
  static SuccessionSettings Settings(uint64_t node) {
    SuccessionSettings settings;
    settings.node = node;
    settings.formed = LeadOf(0, 0, 0);
    return settings;
  }

  void Note(const SuccessionOutput& output) {
    std::string what;
    if (const auto* follow = std::get_if<Follow>(&output)) {
      what = absl::StrCat("follow ", follow->lead.coordinator.life.value);
    } else if (const auto* start = std::get_if<StartCoordinator>(&output)) {
      what = "start";
      started_ = *start;
    } else if (const auto* stop = std::get_if<StopCoordinator>(&output)) {
      EXPECT_EQ(stop->life, started_.life);
      what = "stop";
    } else {
      what = std::holds_alternative<PauseWorkers>(output) ? "pause" : "resume";
    }
    const auto ms = std::chrono::duration_cast<milliseconds>(now_.time_since_epoch()).count();
    happened_.push_back(absl::StrCat(ms, " ", what));
  }

  Succession succession_;
  Clock::time_point now_;
  bool answering_ = true;
  Lead accepted_;
  StartCoordinator started_;
  std::vector<std::string> happened_;
};

TEST(SuccessionTest, TheFirstStandbyStartsTheFirstCoordinatorAtOnce) {
  Node node(0);
  EXPECT_THAT(node.Happened(), ElementsAre("0 resume", "0 start"));
  EXPECT_EQ(node.replaced().value, 0U);
  EXPECT_NE(node.started().value, 0U);
  EXPECT_FALSE(node.succession().TakesOrdersFrom(node.started()));  // claims nothing yet
  EXPECT_FALSE(node.succession().TakesOrdersFrom({0}));
  node.RunTo(100);
  node.Accept(LeadOf(1, node.started().value, 0));
  EXPECT_THAT(node.Happened(), ElementsAre(absl::StrCat("100 follow ", node.started().value)));
  EXPECT_TRUE(node.succession().TakesOrdersFrom(node.started()));
}

TEST(SuccessionTest, OthersWaitForTheirTurns) {
  Node second(1);
  Node third(2);
  Node without_voter(3);
  for (Node* node : {&second, &third, &without_voter}) node->RunTo(5000);
  EXPECT_THAT(second.Happened(), ElementsAre("0 resume", "700 start"));
  EXPECT_THAT(third.Happened(), ElementsAre("0 resume", "1400 start"));
  EXPECT_THAT(without_voter.Happened(), ElementsAre("0 resume"));
}

TEST(SuccessionTest, FollowsWhatAMajorityHasAcceptedUnderOneBallot) {
  Node node(3);
  node.Happened();
  node.Feed(LeadTold{{1}, 0, LeadOf(5, 7, 0)});
  node.Feed(LeadTold{{1}, 0, LeadOf(5, 7, 0)});  // repeated
  node.Feed(LeadTold{{2}, 0, LeadOf(6, 8, 1)});
  EXPECT_THAT(node.Happened(), IsEmpty());
  node.Feed(LeadTold{{3}, 0, LeadOf(5, 7, 0)});
  EXPECT_THAT(node.Happened(), ElementsAre("0 follow 7"));
}

TEST(SuccessionTest, NeverGoesBackToAnEarlierBallot) {
  Node node(3);
  node.Happened();
  node.Accept(LeadOf(6, 8, 1));
  node.Accept(LeadOf(5, 9, 0));  // of another proposer with a higher name
  node.Feed(LeadTold{{3}, 0, LeadOf(5, 9, 0)});
  EXPECT_THAT(node.Happened(), ElementsAre("0 follow 8"));
  EXPECT_FALSE(node.succession().TakesOrdersFrom({9}));
  EXPECT_TRUE(node.succession().TakesOrdersFrom({8}));
  // A later ballot for the same coordinator changes nothing, but is what counts from there on.
  node.Accept(LeadOf(9, 8, 1));
  EXPECT_THAT(node.Happened(), IsEmpty());
  node.Accept(LeadOf(8, 7, 0));
  EXPECT_THAT(node.Happened(), IsEmpty());
  EXPECT_EQ(node.succession().lead().ballot.round, 9U);
}

TEST(SuccessionTest, OneThatIsGoneIsReplacedInTurn) {
  Node next(2);  // after node 1
  Node over_next(0);
  for (Node* node : {&next, &over_next}) {
    node->Accept(LeadOf(1, 7, 1));
    node->Feed(CoordinatorEnded{node->started()});
    node->RunTo(1000);
    node->Happened();
    node->Feed(CoordinatorHeard{{7}});
    node->Feed(CoordinatorGone{{7}});
    node->RunTo(1500);
    node->Feed(CoordinatorGone{{7}});  // nor does it listen; the turns don't begin again
    node->RunTo(3000);
  }
  EXPECT_THAT(next.Happened(), ElementsAre("1700 start"));
  EXPECT_EQ(next.replaced().value, 7U);
  EXPECT_THAT(over_next.Happened(), ElementsAre("2400 start"));
}

TEST(SuccessionTest, OneThatIsHeardAgainIsNotReplaced) {
  Node node(2);
  node.Accept(LeadOf(1, 7, 1));
  node.Happened();
  node.Feed(CoordinatorGone{{7}});
  node.RunTo(600);
  node.Feed(CoordinatorHeard{{7}});
  node.Feed(CoordinatorGone{{6}});  // of no interest
  node.RunTo(3500);
  EXPECT_THAT(node.Happened(), IsEmpty());
}

TEST(SuccessionTest, OneThatIsSilentIsReplacedLaterInTurn) {
  Node next(2);
  Node over_next(0);
  for (Node* node : {&next, &over_next}) {
    node->Accept(LeadOf(1, 7, 1));
    node->Feed(CoordinatorEnded{node->started()});
    node->RunTo(500);
    node->Happened();
    node->Feed(CoordinatorHeard{{7}});
    node->RunTo(6000);
  }
  EXPECT_THAT(next.Happened(), ElementsAre("3500 start"));
  EXPECT_THAT(over_next.Happened(), ElementsAre("4200 start"));
}

TEST(SuccessionTest, ItsOwnIsStartedAgainAtOnceAndOnceInATurn) {
  Node node(0);
  node.Accept(LeadOf(1, node.started().value, 0));
  node.RunTo(2000);
  node.Happened();
  const ProposerId first = node.started();
  node.Feed(CoordinatorEnded{first});
  EXPECT_THAT(node.Happened(), ElementsAre("2000 start"));
  EXPECT_EQ(node.replaced(), first);
  EXPECT_NE(node.started(), first);
  node.RunTo(2100);
  node.Feed(CoordinatorEnded{node.started()});  // before it has claimed anything
  node.RunTo(3000);
  EXPECT_THAT(node.Happened(), ElementsAre("2700 start"));
  EXPECT_EQ(node.replaced(), first);
}

TEST(SuccessionTest, ItsOwnIsStoppedWhenAnotherWasClaimedAfterIt) {
  Node node(0);
  const ProposerId own = node.started();
  node.Accept(LeadOf(1, own.value, 0));
  node.RunTo(100);
  node.Happened();
  node.Accept(LeadOf(2, own.value, 0));  // it has written
  EXPECT_THAT(node.Happened(), IsEmpty());
  node.Accept(LeadOf(3, 8, 1));
  EXPECT_THAT(node.Happened(), ElementsAre("100 follow 8", "100 stop"));
  node.Accept(LeadOf(4, 9, 2));
  EXPECT_THAT(node.Happened(), ElementsAre("100 follow 9"));  // it was told
  node.Feed(CoordinatorGone{{9}});
  node.RunTo(3000);
  EXPECT_THAT(node.Happened(), IsEmpty());  // until it has ended
  node.Feed(CoordinatorEnded{own});
  EXPECT_THAT(node.Happened(), ElementsAre("3000 start"));
}

TEST(SuccessionTest, OneThatWasTooLateToClaimIsStopped) {
  Node node(1);
  node.RunTo(700);
  EXPECT_THAT(node.Happened(), ElementsAre("0 resume", "700 start"));
  node.Accept(LeadOf(3, 8, 0));
  EXPECT_THAT(node.Happened(), ElementsAre("700 follow 8", "700 stop"));
}

TEST(SuccessionTest, WithoutAMajorityWorkersArePausedAndNothingIsStarted) {
  Node node(2);
  node.Accept(LeadOf(1, 7, 1));
  node.RunTo(1000);
  node.Happened();
  node.set_answering(false);
  node.Feed(CoordinatorGone{{7}});
  node.RunTo(4500);
  EXPECT_THAT(node.Happened(), ElementsAre("1700 start", "4000 pause"));  // by its last answers
  node.Feed(CoordinatorEnded{node.started()});
  node.RunTo(10'000);
  node.Answer(51, {1});  // of the question at 10 s: one alone
  EXPECT_THAT(node.Happened(), IsEmpty());
  node.Answer(51, {2});
  EXPECT_THAT(node.Happened(), ElementsAre("10000 resume", "10000 start"));
}

TEST(SuccessionTest, ALateAnswerIsAsOldAsItsQuestion) {
  Node node(3);
  node.set_answering(false);
  node.RunTo(400);  // questions 2 and 3
  node.Happened();
  node.RunTo(3399);
  node.Answer(3, {1, 2});
  EXPECT_THAT(node.Happened(), ElementsAre("3000 pause", "3399 resume"));
  node.RunTo(4000);
  EXPECT_THAT(node.Happened(), ElementsAre("3400 pause"));
}

TEST(SuccessionTest, AfterASleepOfItsOwnTheCoordinatorHasItsTimeAnew) {
  Node node(2);
  node.Accept(LeadOf(1, 7, 1));
  node.RunTo(1000);
  node.Happened();
  node.SleepTo(60'000);
  node.Feed(Wake{});
  EXPECT_THAT(node.Happened(), ElementsAre("60000 pause", "60000 resume"));
  node.RunTo(62'900);
  EXPECT_THAT(node.Happened(), IsEmpty());
  node.RunTo(63'000);
  EXPECT_THAT(node.Happened(), ElementsAre("63000 start"));
}

TEST(SuccessionTest, VotersThatOthersTellOfAreAskedToo) {
  Node node(3);
  node.set_answering(false);
  Lead lead = LeadOf(3, 7, 1);
  lead.voters.incoming = {{3}, {4}};
  node.Feed(LeadTold{{3}, 0, lead});
  node.SleepTo(200);
  const auto outputs = node.succession().Step(Wake{}, Clock::time_point(milliseconds(200)));
  EXPECT_THAT(std::get<AskVoters>(outputs.at(0)).voters,
              ElementsAre(VoterId{1}, VoterId{2}, VoterId{3}, VoterId{4}));
}

}  // namespace
}  // namespace phalanx::membership
