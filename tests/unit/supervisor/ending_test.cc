#include "control_supervisor/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace phalanx::control {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr bool kTold = true;
constexpr bool kNotTold = false;

class EndingTest : public testing::Test {
 protected:
  // Takes what is ordered and remembers when to wake.
  std::vector<int> Signals() {
    const Ending::Orders orders = ending_.Take();
    wake_at_ = orders.wake_at;
    return orders.signals;
  }

  const Ending::TimePoint start_ = Ending::TimePoint() + seconds(1000);
  std::optional<Ending::TimePoint> wake_at_;
  Ending ending_{seconds(5)};
};

TEST_F(EndingTest, SuccessOfSomeChangesNothing) {
  ending_.OnWorkerEnded(0, ProcessEnd::Exited(0), kTold, start_);
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_FALSE(wake_at_);
  EXPECT_FALSE(ending_.ending());
  EXPECT_EQ(ending_.ExitCode(), 0);
}

TEST_F(EndingTest, FailureGivesTheOthersTwoGracePeriods) {
  ending_.OnWorkerEnded(2, ProcessEnd::Exited(7), kTold, start_);
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
  ending_.OnWorkerEnded(0, ProcessEnd::Killed(SIGKILL), kTold, start_ + seconds(10));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_EQ(ending_.first_failed_rank(), 2);
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(EndingTest, WhoeverCantHearGetsSigtermAtOnce) {
  ending_.OnWorkerEnded(2, ProcessEnd::Killed(SIGSEGV), kNotTold, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ending_.OnWorkerEnded(1, ProcessEnd::Killed(SIGTERM), kNotTold, start_);
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGSEGV) << "the first failure counts";
}

TEST_F(EndingTest, SignalIsPassedOnAndThenInsistedOn) {
  ending_.OnEndSignal(SIGINT, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnTime(start_ + seconds(5));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  ending_.OnWorkerEnded(0, ProcessEnd::Killed(SIGKILL), kNotTold, start_ + seconds(5));
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGINT);
  EXPECT_EQ(ending_.first_failed_rank(), -1);
}

TEST_F(EndingTest, SecondSignalKills) {
  ending_.OnEndSignal(SIGTERM, start_);
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGCONT));
  ending_.OnEndSignal(SIGINT, start_ + seconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  ending_.OnWorkerEnded(0, ProcessEnd::Killed(SIGKILL), kNotTold, start_ + seconds(1));
  EXPECT_EQ(ending_.ExitCode(), 128 + SIGTERM);
}

TEST_F(EndingTest, WorkersMayMakeTheirOwnEndOfASignal) {
  ending_.OnEndSignal(SIGINT, start_);
  ending_.OnWorkerEnded(0, ProcessEnd::Exited(0), kNotTold, start_);
  EXPECT_EQ(ending_.ExitCode(), 0);
  ending_.OnWorkerEnded(1, ProcessEnd::Killed(SIGINT), kNotTold, start_);
  EXPECT_EQ(ending_.ExitCode(), 130);
}

TEST_F(EndingTest, SignalWhileWaitingForTheOthers) {
  ending_.OnWorkerEnded(2, ProcessEnd::Exited(7), kTold, start_);
  ending_.OnEndSignal(SIGINT, start_ + seconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGCONT));
  ASSERT_EQ(wake_at_, start_ + seconds(6));
  EXPECT_EQ(ending_.ExitCode(), 7);
}

TEST_F(EndingTest, LossElsewhereIsNotARanksFailure) {
  ending_.OnLost(kTold, start_);
  EXPECT_THAT(Signals(), IsEmpty());
  ASSERT_EQ(wake_at_, start_ + seconds(5));
  ending_.OnWorkerEnded(0, ProcessEnd::Exited(9), kTold, start_);
  EXPECT_EQ(ending_.first_failed_rank(), -1);
  EXPECT_EQ(ending_.ExitCode(), 1);
}

TEST_F(EndingTest, LossAfterAFailureChangesNothing) {
  ending_.OnWorkerEnded(2, ProcessEnd::Exited(7), kTold, start_);
  ending_.OnLost(kTold, start_ + seconds(1));
  EXPECT_THAT(Signals(), IsEmpty());
  EXPECT_EQ(wake_at_, start_ + seconds(5));
  EXPECT_EQ(ending_.ExitCode(), 7);
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
