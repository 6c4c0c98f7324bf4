// Frozen workers and slow ones, in virtual time.
#include "worker_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Worker N is the process N; all that is told is kept with its time.
class WorkerWatchTest : public ::testing::Test {
 protected:
  static Clock::time_point At(int ms) { return Clock::time_point(milliseconds(ms)); }

  // Lets the workers in beating_ that aren't stopped beat, and ticks, each 100 ms up to and with
  // `ms`.
  void RunTo(int ms) {
    for (; next_ms_ <= ms; next_ms_ += 100) {
      for (const uint64_t worker : beating_) {
        if (states_[static_cast<int>(worker)] == ProcessState::kGoesOn) Hear(worker, next_ms_ - 1);
      }
      const WorkerWatch::Findings findings = watch_.Tick(At(next_ms_));
      for (const auto& silent : findings.silent) {
        told_.push_back(std::to_string(next_ms_) + ": " + std::to_string(silent.worker) + " " +
                        silent.how);
      }
      for (const auto& awake : findings.awake) TellAwake(awake, next_ms_);
      for (const uint64_t worker : findings.starved) {
        told_.push_back(std::to_string(next_ms_) + ": " + std::to_string(worker) + " starved");
      }
    }
  }
  void Hear(uint64_t worker, int ms) {
    if (const auto awake = watch_.Hear(worker, At(ms))) TellAwake(*awake, ms);
  }
  void TellAwake(const WorkerWatch::Awake& awake, int ms) {
    const auto silent_for = std::chrono::duration_cast<milliseconds>(awake.silent_for);
    told_.push_back(std::to_string(ms) + ": " + std::to_string(awake.worker) + " awake after " +
                    std::to_string(silent_for.count()));
  }
  void Watch(uint64_t worker) {
    states_[static_cast<int>(worker)] = ProcessState::kGoesOn;
    watch_.Watch(worker, static_cast<int>(worker), At(next_ms_));
  }

  std::map<int, ProcessState> states_;
  std::vector<uint64_t> beating_;
  WorkerWatch watch_{[this](int pid) { return states_.at(pid); }};
  int next_ms_ = 0;
  std::vector<std::string> told_;
};

TEST_F(WorkerWatchTest, AStoppedOneIsFoundAndToldOfEachSecondUntilItGoesOn) {
  Watch(1);
  Watch(2);
  beating_ = {1, 2};
  RunTo(1000);
  states_[1] = ProcessState::kStopped;
  RunTo(2800);
  EXPECT_THAT(told_, ElementsAre("1700: 1 is stopped (SIGSTOP?) and silent for 0.7 s",
                                 "2700: 1 is stopped (SIGSTOP?) and silent for 1.7 s"));
  told_.clear();
  states_[1] = ProcessState::kGoesOn;
  RunTo(5000);
  EXPECT_THAT(told_, ElementsAre("2899: 1 awake after 1900"));
}

TEST_F(WorkerWatchTest, AShortStopDoesNoHarm) {
  Watch(1);
  beating_ = {1};
  for (int ms = 1000; ms < 20'000; ms += 1000) {
    RunTo(ms);
    states_[1] = ProcessState::kStopped;
    RunTo(ms + 500);
    states_[1] = ProcessState::kGoesOn;
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(WorkerWatchTest, SlowIsNeverDead) {
  Watch(1);
  Watch(2);
  Hear(1, 0);
  Hear(2, 0);
  states_[2] = ProcessState::kTraced;  // held by a debugger
  RunTo(120'000);
  EXPECT_THAT(told_, ElementsAre("10000: 1 starved", "10000: 2 starved"));
}

// Starved for long, and then stopped for a moment.
TEST_F(WorkerWatchTest, OneThatIsStarvedAndStoppedForAMomentIsNotFrozen) {
  Watch(1);
  Hear(1, 0);
  RunTo(5000);
  states_[1] = ProcessState::kStopped;
  RunTo(5300);
  states_[1] = ProcessState::kGoesOn;
  RunTo(6000);
  EXPECT_THAT(told_, IsEmpty());
  states_[1] = ProcessState::kStopped;
  RunTo(6500);
  EXPECT_THAT(told_, ElementsAre("6500: 1 is stopped (SIGSTOP?) and silent for 6.5 s"));
}

TEST_F(WorkerWatchTest, OneThatDoesntBeatIsAwakeUnlessItIsStopped) {
  Watch(1);
  RunTo(60'000);
  EXPECT_THAT(told_, IsEmpty());
  states_[1] = ProcessState::kStopped;
  RunTo(60'900);
  EXPECT_THAT(told_, ElementsAre("60700: 1 is stopped (SIGSTOP?) and silent for 0.7 s"));
  states_[1] = ProcessState::kGoesOn;
  RunTo(61'500);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1], "61000: 1 awake after 1000");
}

TEST_F(WorkerWatchTest, OneThatStopsBeatingIsLookedAtInstead) {
  Watch(1);
  beating_ = {1};
  RunTo(1000);
  beating_ = {};
  watch_.StopsBeating(1);
  RunTo(60'000);
  EXPECT_THAT(told_, IsEmpty());
}

// Ctrl-Z of the whole job, and fg: the workers go on a moment after the watch.
TEST_F(WorkerWatchTest, WhenTheWatchWasStoppedItselfNobodyIsFrozen) {
  Watch(1);
  beating_ = {1};
  RunTo(1000);
  states_[1] = ProcessState::kStopped;
  RunTo(1300);
  next_ms_ = 600'000;
  RunTo(600'500);
  states_[1] = ProcessState::kGoesOn;
  RunTo(610'000);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(WorkerWatchTest, AnotherPeriod) {
  watch_.set_suspect_after(milliseconds(2000));
  Watch(1);
  beating_ = {1};
  RunTo(1000);
  states_[1] = ProcessState::kStopped;
  RunTo(3500);
  EXPECT_THAT(told_, ElementsAre("3000: 1 is stopped (SIGSTOP?) and silent for 2.0 s"));
}

TEST_F(WorkerWatchTest, TheForgottenAreNobody) {
  Watch(1);
  beating_ = {1};
  RunTo(500);
  states_[1] = ProcessState::kStopped;
  RunTo(1000);
  watch_.Forget(1);
  RunTo(5000);
  EXPECT_THAT(told_, IsEmpty());
}

}  // namespace
}  // namespace phalanx::control
