#include "control_process/process_state.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace phalanx::control {
namespace {

// A child with a name that looks like a state, which waits until it is killed.
class ProcessStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, ") T 1 (x");
      while (true) pause();
    }
    ASSERT_GT(pid_, 0);
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid_ = -1;
};

TEST_F(ProcessStateTest, FollowsAProcessFromItsStopToItsEnd) {
  EXPECT_EQ(StateOf(pid_), ProcessState::kGoesOn);
  ASSERT_EQ(kill(pid_, SIGSTOP), 0);
  ASSERT_EQ(waitpid(pid_, nullptr, WUNTRACED), pid_);
  EXPECT_EQ(StateOf(pid_), ProcessState::kStopped);
  ASSERT_EQ(kill(pid_, SIGCONT), 0);
  ASSERT_EQ(waitpid(pid_, nullptr, WCONTINUED), pid_);
  EXPECT_EQ(StateOf(pid_), ProcessState::kGoesOn);
  ASSERT_EQ(kill(pid_, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StateOf(pid_), ProcessState::kUnknown);
  ASSERT_EQ(waitpid(pid_, nullptr, 0), pid_);
  EXPECT_EQ(StateOf(pid_), ProcessState::kUnknown);
  pid_ = -1;
}

TEST_F(ProcessStateTest, SpeaksOfItself) {
  EXPECT_EQ(StateOf(getpid()), ProcessState::kGoesOn);
  EXPECT_EQ(StateOf(0), ProcessState::kUnknown);
}

}  // namespace
}  // namespace phalanx::control
