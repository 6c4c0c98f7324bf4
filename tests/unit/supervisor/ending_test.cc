#include "control_supervisor/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace phalanx::control {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kLostExitCode = 120;

class EndingTest : public testing::Test {
 protected:
  explicit EndingTest(bool replaces = false)
      : ending_(seconds(5), seconds(1), kLostExitCode, replaces) {}

  // Takes what is ordered and remembers when to wake.
  std::vector<int> Signals() {
    const Ending::Orders orders = ending_.Take();
    wake_at_ = orders.wake_at;
    return orders.signals;
  }

  const Ending::TimePoint start_ = Ending::TimePoint() + seconds(1000);
  std::optional<Ending::TimePoint> wake_at_;
  Ending ending_;
};

TEST_F(EndingTest, SuccessOfSomeChangesNothing) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(0), start_);
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_FALSE(wake_at_);
  EXPECT_FALSE(ending_.ending());
  EXPECT_EQ(ending_.ExitCode(), 0);
}

TEST_F(EndingTest, FailureGivesTheOthersTwoGracePeriods) {
  EXPECT_TRUE(ending_.OnWorkerEnded(ProcessEnd::Exited(7), start_));
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(1));
  ending_.OnLost(start_ + std::chrono::milliseconds(10));
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnTime(start_ + seconds(4));
  EXPECT_THAT(Signals(), IsEmpty());
  ending_.OnTime(start_ + seconds(5));
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(10));
  ending_.OnTime(start_ + seconds(10));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  EXPECT_FALSE(wake_at_);
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_ + seconds(10));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(EndingTest, WhoeverDoesntHearGetsSigtermSoon) {
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGSEGV), start_);
  EXPECT_THAT(Signals(), IsEmpty());
  ending_.OnTime(start_ + seconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGTERM), start_);
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGSEGV) << "the first failure counts";
}

TEST_F(EndingTest, WhoeverCantHearGetsSigtermAtOnce) {
  Ending deaf(seconds(5), seconds(0), kLostExitCode);
  deaf.OnWorkerEnded(ProcessEnd::Exited(3), start_);
  EXPECT_THAT(deaf.Take().signals, ElementsAre(SIGTERM, SIGCONT));
}

TEST_F(EndingTest, SignalIsPassedOnAndThenInsistedOn) {
  ending_.OnEndSignal(SIGINT, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnTime(start_ + seconds(5));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_ + seconds(5));
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGINT);
}

TEST_F(EndingTest, SecondSignalKills) {
  ending_.OnEndSignal(SIGTERM, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ending_.OnEndSignal(SIGINT, start_ + seconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_ + seconds(1));
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGTERM);
}

TEST_F(EndingTest, WorkersMayMakeTheirOwnEndOfASignal) {
  ending_.OnEndSignal(SIGINT, start_);
  ending_.OnWorkerEnded(ProcessEnd::Exited(0), start_);
  EXPECT_EQ(ending_.ExitCode(), 0);
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGINT), start_);
  EXPECT_EQ(ending_.ExitCode(), 130);
}

TEST_F(EndingTest, SignalWhileWaitingForTheOthers) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(7), start_);
  ending_.OnEndSignal(SIGINT, start_ + seconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(6));
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(EndingTest, LossElsewhereIsNotARanksFailure) {
  ending_.OnLost(start_);
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnWorkerEnded(ProcessEnd::Exited(9), start_);
  EXPECT_EQ(ending_.ExitCode(), 1);
}

TEST_F(EndingTest, LossAfterAFailureConfirmsIt) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(7), start_);
  ending_.OnLost(start_ + seconds(1));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_EQ(wake_at_, start_ + seconds(5));
  EXPECT_FALSE(ending_.lost_elsewhere());
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(EndingTest, ExitBecauseOfALossElsewhere) {
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(kLostExitCode), start_));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_EQ(wake_at_, start_ + seconds(5));
  EXPECT_EQ(ending_.ExitCode(), 1);
  EXPECT_TRUE(ending_.OnWorkerEnded(ProcessEnd::Exited(9), start_)) << "the failure itself";
  EXPECT_EQ(ending_.ExitCode(), 9);
}

TEST_F(EndingTest, FailureElsewhereMayBeHeardOfOrNot) {
  ending_.OnFailureElsewhere(start_);
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(1));
  ending_.OnLost(start_);
  Signals();
  ASSERT_EQ(wake_at_, start_ + seconds(5)) << "they have heard";
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_));
  EXPECT_TRUE(ending_.lost_elsewhere());
  EXPECT_EQ(ending_.ExitCode(), 1);
}

TEST_F(EndingTest, AbandonedKillsAtOnce) {
  ending_.OnAbandoned();
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  EXPECT_EQ(ending_.ExitCode(), 1);
}

// Where the control plane gives a lost worker's place to another.
class ReplacingTest : public EndingTest {
 protected:
  ReplacingTest() : EndingTest(/*replaces=*/true) {}
};

TEST_F(ReplacingTest, OnceOneHasFailedTheOthersOfTheJobAreAwaited) {
  EXPECT_FALSE(ending_.awaits_others());
  ending_.OnWorkerEnded(ProcessEnd::Exited(0), start_);
  EXPECT_FALSE(ending_.awaits_others());
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_);
  EXPECT_TRUE(ending_.awaits_others());
  ending_.OnFailuresSettled();
  EXPECT_TRUE(ending_.awaits_others());
  ending_.OnJobEnded();
  EXPECT_FALSE(ending_.awaits_others());
  EXPECT_EQ(ending_.ExitCode(), 0);
}

TEST_F(ReplacingTest, OneThatOnlyWaitedMayFailOnceTheJobHasEndedWell) {
  ending_.OnJobEnded();
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_, /*is_needed=*/false));
  EXPECT_EQ(ending_.ExitCode(), 0);
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_));
  EXPECT_EQ(ending_.ExitCode(), 3) << "a rank's failure counts";
}

TEST_F(ReplacingTest, WhoeverEndsTheJobAwaitsNobody) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_);
  EXPECT_TRUE(ending_.awaits_others());
  ending_.OnNotReplaced(start_);
  EXPECT_FALSE(ending_.awaits_others());
  EXPECT_EQ(ending_.ExitCode(), 3);
}

TEST_F(ReplacingTest, AFailureEndsNothingByItself) {
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_));
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_FALSE(wake_at_);
  EXPECT_FALSE(ending_.ending());
  EXPECT_FALSE(ending_.lost_elsewhere());
  ending_.OnTime(start_ + seconds(100));
  EXPECT_THAT(Signals(), IsEmpty());
}

TEST_F(ReplacingTest, FailuresThatAreSettledDontCount) {
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_);
  EXPECT_EQ(ending_.ExitCode(), 137) << "nobody has said yet that it was made good";
  ending_.OnFailuresSettled();
  ending_.OnWorkerEnded(ProcessEnd::Exited(0), start_);
  EXPECT_EQ(ending_.ExitCode(), 0);
}

TEST_F(ReplacingTest, AFailureAfterThoseThatAreSettledCounts) {
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_);
  ending_.OnFailuresSettled();
  ending_.OnWorkerEnded(ProcessEnd::Exited(5), start_);
  ending_.OnLost(start_);
  EXPECT_FALSE(ending_.lost_elsewhere());
  EXPECT_EQ(ending_.ExitCode(), 5);
}

TEST_F(ReplacingTest, OneThatIsntReplacedEndsTheJobWithItsCode) {
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGKILL), start_);
  ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_ + seconds(20));
  ending_.OnNotReplaced(start_ + seconds(20));
  EXPECT_TRUE(ending_.ending());
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(21)) << "whether they hear of it isn't known";
  ending_.OnTime(start_ + seconds(21));
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGTERM), start_ + seconds(21));
  ending_.OnNotReplaced(start_ + seconds(22));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_FALSE(ending_.lost_elsewhere());
  EXPECT_EQ(ending_.ExitCode(), 3);
}

TEST_F(ReplacingTest, ALossThatCantBeMadeGoodIsThatOfTheFailure) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(7), start_);
  ending_.OnLost(start_ + seconds(20));
  EXPECT_TRUE(ending_.ending());
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(25)) << "they have heard";
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(1), start_ + seconds(20)))
      << "it fails because of the other";
  EXPECT_FALSE(ending_.lost_elsewhere());
  ending_.OnTime(start_ + seconds(25));
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(ReplacingTest, ALossElsewhereIsNotOurs) {
  ending_.OnLost(start_);
  EXPECT_TRUE(ending_.lost_elsewhere());
  EXPECT_FALSE(ending_.OnWorkerEnded(ProcessEnd::Exited(1), start_));
  EXPECT_EQ(ending_.ExitCode(), 1);
}

TEST_F(ReplacingTest, ASignalEndsTheJobAllTheSame) {
  ending_.OnEndSignal(SIGINT, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnWorkerEnded(ProcessEnd::Killed(SIGINT), start_);
  EXPECT_EQ(ending_.ExitCode(), 130);
}

TEST_F(ReplacingTest, WhenAllHaveFailedTheLastCounts) {
  ending_.OnWorkerEnded(ProcessEnd::Exited(3), start_);
  ending_.OnWorkerEnded(ProcessEnd::Exited(4), start_);
  EXPECT_EQ(ending_.ExitCode(), 4);
}

TEST(ProcessEnd, SpeaksAsAShell) {
  EXPECT_EQ(ProcessEnd::Exited(3).Describe(), "exited with code 3");
  EXPECT_EQ(ProcessEnd::Exited(3).ExitCode(), 3);
  EXPECT_EQ(ProcessEnd::Killed(SIGKILL).Describe(), "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(ProcessEnd::Killed(SIGKILL).ExitCode(), 137);
  EXPECT_TRUE(ProcessEnd::Exited(0).Succeeded());
  EXPECT_FALSE(ProcessEnd::Killed(0).Succeeded());
}

}  // namespace
}  // namespace phalanx::control
