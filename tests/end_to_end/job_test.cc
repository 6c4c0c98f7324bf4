// Whole jobs under `phalanx run`, with the control plane: who hears of what, and what is left.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

std::vector<std::string> RunWorkers(std::vector<std::string> options, const std::string& what) {
  options.insert(options.begin(), {PHALANX_COMMAND, "run"});
  options.insert(options.end(), {"--", JOB_WORKER, what});
  return options;
}

void ExpectGone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) EXPECT_TRUE(AwaitGone(pid)) << "process " << pid << " is left";
}

std::vector<pid_t> Workers(const Subprocess& run) { return NumbersAfter(run.output(), "pid "); }

TEST(Job, JoinsAndLeaves) {
  Subprocess run(RunWorkers({"-n", "4"}, "leave"));
  EXPECT_EQ(run.AwaitExitCode(), 0);
  EXPECT_EQ(Count(run.output(), "] left\n"), 4) << run.output();
  EXPECT_EQ(run.error(), "");
}

TEST(Job, NameIsLookedForBesideTheCommand) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "phalanx_job_worker"});
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), "] left\n"), 2) << run.output();
}

TEST(Job, KilledRankEndsTheJob) {
  Subprocess run(RunWorkers({"-n", "4", "--grace-ms", "60000"}, "wait"));
  ASSERT_TRUE(run.AwaitText("joined\n", 4));
  const std::vector<pid_t> workers = Workers(run);
  ASSERT_EQ(workers.size(), 4u);
  const std::string victim = run.output().substr(run.output().find("pid ") - 3, 1);
  kill(workers[0], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137);
  EXPECT_EQ(Count(run.output(), "revoked: rank " + victim), 3) << run.output();
  EXPECT_EQ(Count(run.output(), "was killed by signal 9 (SIGKILL)"), 3) << run.output();
  EXPECT_EQ(Count(run.error(), "rank " + victim + " (pid " + std::to_string(workers[0]) +
                                   ") was killed by signal 9 (SIGKILL); ending the job\n"),
            1)
      << run.error();
  ExpectGone(workers);
}

TEST(Job, StoppedRankIsKilledAfterTheGracePeriods) {
  Subprocess run(RunWorkers({"-n", "3", "--grace-ms", "200"}, "wait"));
  ASSERT_TRUE(run.AwaitText("joined\n", 3));
  const std::vector<pid_t> workers = Workers(run);
  kill(workers[1], SIGSTOP);
  kill(workers[0], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137);
  ExpectGone(workers);
}

TEST(Job, LostCoordinatorEndsTheJob) {
  Subprocess run(RunWorkers({"-n", "3", "--grace-ms", "60000"}, "wait"));
  ASSERT_TRUE(run.AwaitText("joined\n", 3));
  const std::vector<pid_t> coordinator = ChildrenOf(run.pid(), "coordinator");
  ASSERT_EQ(coordinator.size(), 1u);
  kill(coordinator[0], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 1);
  EXPECT_EQ(Count(run.output(), "revoked: "), 3) << run.output();
  EXPECT_NE(run.error().find("coordinator"), std::string::npos) << run.error();
  ExpectGone(Workers(run));
}

TEST(Job, KilledLauncherLeavesNothing) {
  Subprocess run(RunWorkers({"-n", "3"}, "wait"));
  ASSERT_TRUE(run.AwaitText("joined\n", 3));
  std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  EXPECT_EQ(children.size(), 5u) << "three workers, the coordinator, the keeper";
  run.Signal(SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137);
  ExpectGone(children);
}

TEST(Job, KilledLauncherOfShellWrappersLeavesNothing) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--", "sh", "-c",
                  std::string(JOB_WORKER) + " wait; true"});
  ASSERT_TRUE(run.AwaitText("joined\n", 2));
  run.Signal(SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137);
  ExpectGone(Workers(run));
}

TEST(Job, InterruptEndsTheJob) {
  Subprocess run(RunWorkers({"-n", "3"}, "wait"));
  ASSERT_TRUE(run.AwaitText("joined\n", 3));
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 130);
  ExpectGone(Workers(run));
}

TEST(Job, RankThatDiesBeforeItJoins) {
  // Rank 1 never joins; the others wait for it until the launcher ends them.
  Subprocess run({PHALANX_COMMAND, "run", "-n", "3", "--grace-ms", "300", "--", "sh", "-c",
                  "[ $RANK = 1 ] && exit 5; exec " + std::string(JOB_WORKER) + " leave"});
  EXPECT_EQ(run.AwaitExitCode(), 5);
  ExpectGone(Workers(run));
}

}  // namespace
}  // namespace phalanx::testing_support
