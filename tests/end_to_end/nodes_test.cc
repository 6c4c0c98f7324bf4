// Jobs over several nodes: several agents on this machine, some behind a remote shell that isn't
// one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

std::vector<std::string> RunOn(std::vector<std::string> options,
                               const std::vector<std::string>& program) {
  options.insert(options.begin(), {PHALANX_COMMAND, "run"});
  options.push_back("--");
  options.insert(options.end(), program.begin(), program.end());
  return options;
}

std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }

void ExpectGone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) EXPECT_TRUE(AwaitGone(pid)) << "process " << pid << " is left";
}

std::vector<pid_t> Workers(const Subprocess& run) { return NumbersAfter(run.output(), "pid "); }

const std::vector<std::string> kTwoNodes = {"--nodes", "localhost:2,localhost:2", "--grace-ms",
                                            "20000"};

class Nodes : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/nodes_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    // As ssh does: says where it is to go, then a shell there runs the command.
    const std::string path = folder_ + "/rsh";
    std::ofstream(path) << "#!/bin/sh\n"
                           "[ \"$2\" = unreachable ] && { echo no route to $2 >&2; exit 255; }\n"
                           "echo \"arguments: $*\" >&2\n"
                           "cd / && NODE=$2 && export NODE && shift 2 && sh -c \"$*\"\n";
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
    remote_ = {"--nodes", "alpha:2,beta:2", "--rsh", path + " -q", "--address", "127.0.0.1"};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::vector<std::string> remote_;
};

TEST_F(Nodes, RanksAreConsecutive) {
  Subprocess run(RunOn({"--nodes", "localhost:2,localhost:1,127.0.0.1:3"},
                       Shell("echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE; cat; exit 0")));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  for (const char* line : {"[0] 0/6 0/2\n", "[1] 1/6 1/2\n", "[2] 2/6 0/1\n", "[3] 3/6 0/3\n",
                           "[4] 4/6 1/3\n", "[5] 5/6 2/3\n"}) {
    EXPECT_EQ(Count(run.output(), line), 1) << line << run.output();
  }
  EXPECT_EQ(run.error(), "");
}

TEST_F(Nodes, HostFileAndNumberOfRanks) {
  std::ofstream(folder_ + "/hosts") << "localhost slots=2 # one\nlocalhost:4\n";
  Subprocess run(RunOn({"-n", "3", "--hostfile", folder_ + "/hosts"},
                       Shell("echo $RANK of $WORLD_SIZE on $LOCAL_WORLD_SIZE")));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), "of 3 on 2\n"), 2) << run.output();
  EXPECT_EQ(Count(run.output(), "[2] 2 of 3 on 1\n"), 1) << run.output();
}

TEST_F(Nodes, JoinsOverTwoNodes) {
  Subprocess run(RunOn(kTwoNodes, {JOB_WORKER, "leave"}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), "] left\n"), 4) << run.output();
  EXPECT_EQ(Count(run.output(), "member of node 0\n"), 8);
  EXPECT_EQ(Count(run.output(), "member of node 1\n"), 8);
  EXPECT_EQ(run.error(), "");
}

TEST_F(Nodes, RemoteShellGetsNoSecret) {
  Subprocess::Options options;
  options.environment = {{"PHALANX_OURS", "a 'b'"}};
  Subprocess run(RunOn(remote_, Shell("echo in $(pwd) on $NODE: $PHALANX_OURS")), options);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(Count(run.output(), "in " + here + " on alpha: a 'b'\n"), 2) << run.output();
  EXPECT_EQ(Count(run.output(), "in " + here + " on beta: a 'b'\n"), 2) << run.output();
  EXPECT_EQ(Count(run.error(), "agent --from-launcher\n"), 2) << run.error();
  EXPECT_EQ(Count(run.error(), "arguments: -q alpha exec '"), 1) << run.error();
}

TEST_F(Nodes, FailureOnOneNodeEndsBoth) {
  Subprocess run(RunOn(kTwoNodes, {JOB_WORKER, "wait"}));
  ASSERT_TRUE(run.AwaitText("joined\n", 4));
  const std::vector<pid_t> workers = Workers(run);
  kill(workers[0], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_EQ(Count(run.output(), "revoked: rank "), 3) << run.output();
  EXPECT_EQ(Count(run.error(), "was killed by signal 9 (SIGKILL); ending the job\n"), 1)
      << run.error();
  ExpectGone(workers);
}

TEST_F(Nodes, FailureOfAProgramThatNeverJoins) {
  Subprocess run(RunOn(kTwoNodes, Shell("[ $RANK = 2 ] && exit 7; echo pid $$; exec sleep 1000")));
  EXPECT_EQ(run.AwaitExitCode(), 7) << run.error();
  ExpectGone(Workers(run));
}

TEST_F(Nodes, LostAgentEndsTheJob) {
  Subprocess run(RunOn(kTwoNodes, {JOB_WORKER, "wait"}));
  ASSERT_TRUE(run.AwaitText("joined\n", 4));
  const std::vector<pid_t> agents = ChildrenOf(run.pid(), "agent");
  ASSERT_EQ(agents.size(), 2u);
  std::vector<pid_t> all = Workers(run);
  all.insert(all.end(), agents.begin(), agents.end());
  kill(std::max(agents[0], agents[1]), SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_EQ(Count(run.error(), "was lost: its agent (pid "), 1) << run.error();
  EXPECT_GE(Count(run.output(), "revoked: "), 2) << run.output();
  ExpectGone(all);
}

TEST_F(Nodes, LostCoordinatorEndsTheJob) {
  Subprocess run(RunOn(kTwoNodes, {JOB_WORKER, "wait"}));
  ASSERT_TRUE(run.AwaitText("joined\n", 4));
  const std::vector<pid_t> coordinator = ChildrenOf(run.pid(), "coordinator");
  ASSERT_EQ(coordinator.size(), 1u);
  kill(coordinator[0], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.error();
  EXPECT_EQ(Count(run.output(), "revoked: "), 4) << run.output();
  ExpectGone(Workers(run));
}

TEST_F(Nodes, KilledLauncherLeavesNothing) {
  for (std::vector<std::string> options : {kTwoNodes, remote_}) {
    Subprocess run(RunOn(options, Shell("sh -c 'echo pid $$; exec sleep 1000'; true")));
    ASSERT_TRUE(run.AwaitText("pid ", 4));
    std::vector<pid_t> all = Workers(run);
    for (const pid_t child : ChildrenOf(run.pid(), "")) all.push_back(child);
    run.Signal(SIGKILL);
    EXPECT_EQ(run.AwaitExitCode(), 137);
    ExpectGone(all);
  }
}

TEST_F(Nodes, SignalsReachAllNodes) {
  for (std::vector<std::string> options : {kTwoNodes, remote_}) {
    Subprocess run(RunOn(options, Shell("trap 'echo usr1' USR1; trap 'echo got; exit 4' INT; echo "
                                        "ready; while :; do sleep 0.05; done")));
    ASSERT_TRUE(run.AwaitText("ready\n", 4));
    run.Signal(SIGUSR1);
    ASSERT_TRUE(run.AwaitText("usr1\n", 4));
    run.Signal(SIGINT);
    EXPECT_EQ(run.AwaitExitCode(), 4) << run.error();
    EXPECT_EQ(Count(run.output(), "got\n"), 4) << run.output();
  }
}

TEST_F(Nodes, UnreachableHost) {
  remote_[1] = "localhost:1,unreachable:1";
  Subprocess run(RunOn(remote_, Shell("echo pid $$; exec sleep 1000")));
  EXPECT_EQ(run.AwaitExitCode(), 255);
  EXPECT_EQ(Count(run.error(), "no route to unreachable\n"), 1) << run.error();
  EXPECT_EQ(Count(run.error(), "node 1 (unreachable) was lost or can't be reached"), 1)
      << run.error();
  ExpectGone(Workers(run));
}

TEST_F(Nodes, WrongWords) {
  struct Case {
    std::vector<std::string> options;
    int exit_code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--nodes", "a:x"}, 2, "'a:x'"},
      {{"--nodes", "localhost:2", "-n", "3"}, 2, "3 ranks were asked for"},
      {{"--nodes", "localhost", "--hostfile", "x"}, 2, "excludes"},
      {{"--hostfile", "/nowhere/hosts"}, 2, "/nowhere/hosts"},
      {{"--nodes", "alpha", "--rsh", " "}, 2, "--rsh"},
      {{"--nodes", "alpha", "--rsh", "/nowhere/rsh", "--address", "127.0.0.1"}, 1, "/nowhere/rsh"},
      {{"--nodes", "localhost", "--address", "192.0.2.1"}, 1, "192.0.2.1"},
  };
  for (const Case& wrong : cases) {
    Subprocess run(RunOn(wrong.options, {"true"}));
    EXPECT_EQ(run.AwaitExitCode(), wrong.exit_code) << run.error();
    EXPECT_NE(run.error().find(wrong.says), std::string::npos) << run.error();
  }
  Subprocess run(RunOn(kTwoNodes, {"no-such-program"}));
  EXPECT_EQ(run.AwaitExitCode(), 127);
}

}  // namespace
}  // namespace phalanx::testing_support
