// Nodes are lost, and the job goes on from copies on others: `phalanx run --nodes … --replicas R`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Train(const std::string& nodes, int spares,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {PHALANX_COMMAND, "run",      "--nodes",
                                      nodes,           "--spares", std::to_string(spares)};
  command.insert(command.end(), more.begin(), more.end());
  command.insert(command.end(), {"--", "train", "--epochs", "40"});
  return command;
}

// What follows the first of these texts; -1 if there is none.
double NumberAfter(const std::string& output, const std::string& text) {
  const size_t at = output.find(text);
  return at == std::string::npos ? -1 : std::atof(output.c_str() + at + text.size());
}

std::map<std::string, std::string> EnvironmentOf(pid_t pid) {
  std::map<std::string, std::string> environment;
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  for (std::string variable; std::getline(file, variable, '\0');) {
    const size_t equals = variable.find('=');
    if (equals != std::string::npos) {
      environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  return environment;
}

// A node's agent and its workers, found by one of its ranks.
struct NodeProcesses {
  pid_t agent = 0;
  std::vector<pid_t> workers;
};

NodeProcesses NodeOf(const Subprocess& run, int rank) {
  for (const pid_t agent : ChildrenOf(run.pid(), "agent")) {
    NodeProcesses node{agent, {}};
    bool is_it = false;
    for (const pid_t child : ChildrenOf(agent, "")) {
      const std::map<std::string, std::string> environment = EnvironmentOf(child);
      if (environment.count("PHALANX_WORLD_SIZE") == 0) continue;
      node.workers.push_back(child);
      const auto found = environment.find("PHALANX_RANK");
      is_it = is_it || (found != environment.end() && found->second == std::to_string(rank));
    }
    if (is_it) return node;
  }
  ADD_FAILURE() << "no agent has rank " << rank;
  return {};
}

enum class Order { kAgentFirst, kWorkersFirst };

void Kill(const NodeProcesses& node, Order order) {
  ASSERT_GT(node.agent, 0);
  ASSERT_FALSE(node.workers.empty());
  if (order == Order::kAgentFirst) kill(node.agent, SIGKILL);
  for (const pid_t worker : node.workers) kill(worker, SIGKILL);
  if (order == Order::kWorkersFirst) kill(node.agent, SIGKILL);
}

// Of a run on the same nodes without a loss.
const std::string& UndisturbedWeights(const std::string& nodes) {
  static auto* const weights = new std::map<std::string, std::string>;
  std::string& known = (*weights)[nodes];
  if (known.empty()) {
    Subprocess run(Train(nodes, 0));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    const std::vector<std::string> digests = Digests(run.output());
    EXPECT_EQ(digests.size(), 4u) << run.output();
    known = digests.empty() ? "none" : digests[0];
  }
  return known;
}

void ExpectUndisturbedWeights(const Subprocess& run, const std::string& nodes) {
  EXPECT_EQ(Count(run.output(), "weights " + UndisturbedWeights(nodes)), 4) << run.output();
}

TEST(Replicas, ASpareOfAnotherNodeTakesARankOfEither) {
  const std::string nodes = "localhost:2,localhost:2";
  for (const char* rank : {"1", "3"}) {
    Subprocess run(Train(nodes, 1, {"--fault", std::string("kill rank=") + rank + " at=step:120"}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbedWeights(run, nodes);
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("all ranks go on from step 0 "))) << run.error();
    EXPECT_THAT(run.error(), HasSubstr("healthy again: every shard has 2 copies")) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("degraded"))) << run.error();
  }
}

// Its only copy but the lost one is fetched from another node.
TEST(Replicas, ASpareOnANodeWithoutACopyGetsOne) {
  const std::string nodes = "localhost:1,localhost:1,localhost:2";
  Subprocess run(Train(nodes, 1, {"--fault", "kill rank=1 at=step:120"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run, nodes);
  EXPECT_THAT(run.error(), HasSubstr("healthy again: every shard has 2 copies")) << run.error();
}

TEST(Replicas, AWholeNodeIsLost) {
  const std::string nodes = "localhost:1,localhost:2,localhost:1";
  for (const Order order : {Order::kAgentFirst, Order::kWorkersFirst}) {
    Subprocess run(Train(nodes, 3));
    ASSERT_TRUE(run.AwaitText("epoch  4"));
    const NodeProcesses node = NodeOf(run, 1);
    EXPECT_EQ(node.workers.size(), 3u);
    Kill(node, order);
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbedWeights(run, nodes);
    EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 1")) << run.error();
    EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 2")) << run.error();
    EXPECT_THAT(run.error(), Not(HasSubstr("all ranks go on from step 0 "))) << run.error();
    EXPECT_THAT(run.error(), HasSubstr("healthy again: every shard has 2 copies")) << run.error();
    for (const pid_t worker : node.workers) EXPECT_TRUE(AwaitGone(worker));
  }
}

TEST(Replicas, WhenANodesWorkersAreLostItsAgentStillHasTheirCopies) {
  const std::string nodes = "localhost:2,localhost:2";
  Subprocess run(Train(nodes, 2, {"--replicas", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch  4"));
  for (const pid_t worker : NodeOf(run, 2).workers) kill(worker, SIGKILL);
  // The other node has one spare, and two ranks are lost.
  EXPECT_NE(run.AwaitExitCode(), 0);
  Subprocess enough(Train(nodes, 4, {"--replicas", "1"}));
  ASSERT_TRUE(enough.AwaitText("epoch  4"));
  for (const pid_t worker : NodeOf(enough, 2).workers) kill(worker, SIGKILL);
  EXPECT_EQ(enough.AwaitExitCode(), 0) << enough.error();
  // On one node floats are added in another order than on two.
  EXPECT_EQ(Count(enough.output(), "weights "), 4) << enough.output();
  EXPECT_THAT(enough.error(), Not(HasSubstr("all ranks go on from step 0 "))) << enough.error();
}

// With one rank on each node, its other copies are on the next ones.
TEST(Replicas, OfThreeCopiesTheLastOneIsEnough) {
  const std::string nodes = "localhost:1,localhost:1,localhost:1,localhost:1";
  Subprocess run(Train(nodes, 8, {"--replicas", "3"}));
  ASSERT_TRUE(run.AwaitText("epoch  4"));
  const NodeProcesses owner = NodeOf(run, 0);
  const NodeProcesses replica = NodeOf(run, 1);
  Kill(owner, Order::kAgentFirst);
  Kill(replica, Order::kAgentFirst);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run, nodes);
  EXPECT_THAT(run.error(), Not(HasSubstr("all ranks go on from step 0 "))) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("degraded: of each rank's state there can be 2 copies, not 3"))
      << run.error();
}

TEST(Replicas, OfTwoCopiesNoneIsLeftWhichIsSaid) {
  const std::string nodes = "localhost:1,localhost:1,localhost:1,localhost:1";
  Subprocess run(Train(nodes, 8));
  ASSERT_TRUE(run.AwaitText("epoch  4"));
  const NodeProcesses owner = NodeOf(run, 0);
  const NodeProcesses replica = NodeOf(run, 1);
  // While the owner's agent is stopped the job can't begin again and copy what is left.
  kill(owner.agent, SIGSTOP);
  kill(replica.agent, SIGKILL);
  kill(owner.agent, SIGKILL);
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr("lost: version "));
  EXPECT_THAT(run.error(), HasSubstr("no good copy is left of the shard of rank 0"));
  EXPECT_THAT(run.error(), HasSubstr("no saved version is whole any more"));
}

TEST(Replicas, OnOneMachineThereIsOneCopyWhichIsSaidToWhoAskedForMore) {
  Subprocess quiet({PHALANX_COMMAND, "run", "-n", "2", "--", "train"});
  EXPECT_EQ(quiet.AwaitExitCode(), 0);
  EXPECT_EQ(quiet.error(), "");
  Subprocess asked({PHALANX_COMMAND, "run", "-n", "2", "--replicas", "2", "--", "train"});
  EXPECT_EQ(asked.AwaitExitCode(), 0);
  EXPECT_THAT(asked.error(), HasSubstr("there can be 1 copy, not 2"));
  // Two agents that say they are on one machine.
  Subprocess::Options options;
  options.environment["PHALANX_REPLICAS"] = "3";
  Subprocess nodes({PHALANX_COMMAND, "run", "--nodes", "localhost:1,localhost:1", "--", "train"},
                   options);
  EXPECT_EQ(nodes.AwaitExitCode(), 0);
  EXPECT_THAT(nodes.error(), HasSubstr("there can be 2 copies, not 3"));
}

// A copy of a rank's 38 KB takes 19 s in the background.
TEST(Replicas, TheBackgroundIsLimitedAndARestoreIsNot) {
  const std::string nodes = "localhost:1,localhost:1,localhost:1,localhost:1";
  constexpr double kBytesPerSecond = 2048;
  const auto began = std::chrono::steady_clock::now();
  Subprocess run(Train(nodes, 1,
                       {"--replication-rate", "2K", "--events", "/dev/stdout", "--fault",
                        "kill rank=2 at=point:committed"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ExpectUndisturbedWeights(run, nodes);
  const double shard = NumberAfter(run.output(), "\"bytes\":") / 4;
  EXPECT_GT(shard, 30000) << run.output();
  // Rank 2 goes to a node that hasn't got its state.
  EXPECT_LT(NumberAfter(run.output(), "\"restored_us\":"), 1e6 * shard / kBytesPerSecond / 2)
      << run.output();
  // The first copies go at once, also after a loss.
  EXPECT_LE(Count(run.output(), "\"committed\""), 2 + took.count() * kBytesPerSecond / shard)
      << run.output();
}

TEST(Replicas, ARateIsANumberOfBytes) {
  for (const char* rate : {"-1", "fast", "1X", ""}) {
    Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--replication-rate", rate, "--", "train"});
    EXPECT_EQ(run.AwaitExitCode(), 2) << rate;
    EXPECT_THAT(run.error(), HasSubstr("--replication-rate"));
  }
}

TEST(Replicas, WrongNumbersAreUsageErrors) {
  for (const char* replicas : {"0", "-1", "17", "two"}) {
    Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--replicas", replicas, "--", "train"});
    EXPECT_EQ(run.AwaitExitCode(), 2) << replicas;
    EXPECT_THAT(run.error(), HasSubstr("--replicas"));
  }
}

}  // namespace
}  // namespace phalanx::testing_support
