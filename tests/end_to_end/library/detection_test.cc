// Processes are stopped and not killed: by `phalanx run --fault 'stop …'`, and from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Far more than it takes, far less than the deadline of the operations that are under way.
constexpr auto kSoon = std::chrono::seconds(20);

std::vector<std::string> Command(std::vector<std::string> options,
                                 const std::vector<std::string>& program) {
  options.insert(options.begin(), {PHALANX_COMMAND, "run"});
  options.push_back("--");
  options.insert(options.end(), program.begin(), program.end());
  return options;
}

std::vector<std::string> Train(const std::string& spares, const std::string& fault) {
  return Command({"-n", "4", "--spares", spares, "--fault", fault}, {"train"});
}

// Of a run in which nothing happens.
const std::vector<std::string>& UndisturbedDigests() {
  static const auto* const digests = [] {
    Subprocess run(Command({"-n", "4"}, {"train"}));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    return new std::vector<std::string>(Digests(run.output()));
  }();
  return *digests;
}

pid_t PidOf(const Subprocess& run, const std::string& label) {
  const std::vector<pid_t> pids = NumbersAfter(run.output(), "[" + label + "] pid ");
  EXPECT_EQ(pids.size(), 1u) << run.output();
  return pids.empty() ? 0 : pids[0];
}

void ExpectNobodyLeft(const Subprocess& run) {
  for (const pid_t pid : NumbersAfter(run.output(), "] pid ")) {
    EXPECT_TRUE(AwaitGone(pid)) << "process " << pid << " is left";
  }
}

TEST(Detection, AStoppedRanksPlaceIsTakenAndTheWeightsAreThoseOfARunWithoutTheFault) {
  Subprocess run(Train("1", "stop rank=2 at=step:120"));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()), UndisturbedDigests()) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] rank 2  weights"));
  EXPECT_THAT(run.error(), HasSubstr("is stopped (SIGSTOP?) and silent for "));
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
}

TEST(Detection, AnAllReduceThatWaitsForAStoppedRankDoesntWaitForItsDeadline) {
  Subprocess run(Command({"-n", "3", "--spares", "1"}, {RECOVERY_WORKER, "wait", "2"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
  ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
  const auto start = std::chrono::steady_clock::now();
  const pid_t stopped = PidOf(run, "2");
  ASSERT_GT(stopped, 0);
  kill(stopped, SIGSTOP);
  ASSERT_TRUE(run.AwaitText("epoch 2\n", 3));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("from SIGSTOP to the next view's first line: %.3f s\n", taken.count());
  EXPECT_LT(taken, kSoon);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] place 2 epoch 2\n"));
  ExpectNobodyLeft(run);
}

TEST(Detection, AShortStopDoesNoHarm) {
  Subprocess run(Train("1", "stop rank=1 at=step:50 for=300ms"));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()), UndisturbedDigests()) << run.output();
  EXPECT_THAT(run.error(), Not(HasSubstr("warning")));
}

// It goes on at about the moment at which it is evicted: before it, or while it is being killed.
TEST(Detection, OneThatGoesOnWhileItIsEvictedDoesNoHarm) {
  for (const char* time : {"700ms", "750ms", "800ms", "850ms"}) {
    Subprocess run(Train("1", std::string("stop rank=3 at=step:50 for=") + time));
    ASSERT_EQ(run.AwaitExitCode(), 0) << time << run.error();
    EXPECT_EQ(Digests(run.output()), UndisturbedDigests()) << run.output();
    EXPECT_LE(Count(run.error(), "recovered in "), 1) << run.error();
  }
}

TEST(Detection, WithoutASpareItIsNamedAndWaitedFor) {
  Subprocess run(Train("0", "stop rank=2 at=step:120 for=2s"));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()), UndisturbedDigests()) << run.output();
  EXPECT_EQ(Count(run.error(), "nobody can take its place, so the job waits for it"), 1)
      << run.error();
  EXPECT_EQ(Count(run.error(), " answers again after "), 1) << run.error();
}

TEST(Detection, AStoppedSpareTakesNobodysPlace) {
  Subprocess run(Command({"-n", "2", "--spares", "2"}, {RECOVERY_WORKER, "wait", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 4));
  kill(PidOf(run, "spare 0"), SIGSTOP);
  ASSERT_TRUE(run.AwaitOutput(
      [&] { return run.error().find("it can take nobody's place") != std::string::npos; }));
  kill(PidOf(run, "1"), SIGKILL);
  ASSERT_TRUE(run.AwaitText("[spare 1] place 1 epoch 2\n"));
  kill(PidOf(run, "spare 0"), SIGCONT);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectNobodyLeft(run);
}

// The whole job is stopped as by Ctrl-Z, for longer than any period, and continued.
TEST(Detection, AJobThatIsStoppedAndContinuedLosesNobody) {
  for (const bool nodes : {false, true}) {
    const std::vector<std::string> where =
        nodes ? std::vector<std::string>{"--nodes", "localhost:2,localhost:2"}
              : std::vector<std::string>{"-n", "4"};
    std::vector<std::string> options = where;
    options.insert(options.end(), {"--spares", "1"});
    Subprocess run(Command(options, {"train"}));
    ASSERT_TRUE(run.AwaitText("epoch  1"));
    run.Signal(SIGTSTP);
    int status = 0;
    ASSERT_EQ(waitpid(run.pid(), &status, WUNTRACED), run.pid());
    ASSERT_TRUE(WIFSTOPPED(status));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    run.Signal(SIGCONT);
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    EXPECT_EQ(Digests(run.output()).size(), 4u) << run.output();
    EXPECT_THAT(run.error(), Not(HasSubstr("evicted")));
    EXPECT_THAT(run.error(), Not(HasSubstr("recovered in ")));
  }
}

}  // namespace
}  // namespace phalanx::testing_support
