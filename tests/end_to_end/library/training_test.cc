// The demo: `phalanx run -n 4 -- train`, undisturbed and disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Train(int ranks, std::vector<std::string> arguments = {}) {
  std::vector<std::string> command = {PHALANX_COMMAND,       "run", "-n",
                                      std::to_string(ranks), "--",  "train"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// The ranks alone: the launcher has a child of its own, with its own command line.
std::vector<pid_t> RanksOf(const Subprocess& run) {
  const std::vector<pid_t> helpers = ChildrenOf(run.pid(), "run");
  std::vector<pid_t> ranks = ChildrenOf(run.pid(), "--epochs");
  ranks.erase(std::remove_if(ranks.begin(), ranks.end(),
                             [&](pid_t pid) {
                               return std::find(helpers.begin(), helpers.end(), pid) !=
                                      helpers.end();
                             }),
              ranks.end());
  return ranks;
}

double LastAccuracy(const std::string& output) {
  const std::string word = "test accuracy ";
  const size_t at = output.rfind(word);
  return at == std::string::npos ? 0 : std::atof(output.c_str() + at + word.size());
}

std::string RunAndTakeDigest(const std::vector<std::string>& command, size_t ranks,
                             const std::map<std::string, std::string>& environment) {
  Subprocess::Options options;
  options.environment = environment;
  Subprocess run(command, options);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  const std::vector<std::string> digests = Digests(run.output());
  EXPECT_EQ(digests.size(), ranks) << run.output();
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), 1u) << run.output();
  return digests.empty() ? "" : digests[0];
}

TEST(Training, LearnsAndEndsWithEqualWeightsOnAllRanksAndInEveryRun) {
  Subprocess run(Train(4));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_GE(LastAccuracy(run.output()), 95.0) << run.output();
  EXPECT_EQ(Count(run.output(), "epoch "), 20);
  const std::vector<std::string> digests = Digests(run.output());
  ASSERT_EQ(digests.size(), 4u) << run.output();
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), 1u);
  EXPECT_EQ(RunAndTakeDigest(Train(4), 4, {}), digests[0]);
}

// How buffers are read is a local fact, and no plan depends on it.
TEST(Training, TheWaysToReadABufferDoNotChangeTheBits) {
  const std::vector<std::string> command = Train(3, {"--epochs", "2"});
  const std::string digest = RunAndTakeDigest(command, 3, {});
  EXPECT_EQ(RunAndTakeDigest(command, 3, {{"PHALANX_CROSS_MEMORY_ATTACH", "0"}}), digest);
}

class TransportTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TransportTest, Trains) {
  const std::string transport = GetParam();
  const std::string module = std::string(MODULES) + "/libphalanx_" + transport + ".so";
  if (transport != "shm" && access(module.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "built without the " << transport << " transport";
  }
  const std::vector<std::string> command = Train(3, {"--epochs", "2"});
  const std::string digest = RunAndTakeDigest(command, 3, {{"PHALANX_TRANSPORT", transport}});
  EXPECT_EQ(RunAndTakeDigest(command, 3, {{"PHALANX_TRANSPORT", transport}}), digest);
}

INSTANTIATE_TEST_SUITE_P(Each, TransportTest, ::testing::Values("shm", "ucx", "ofi"),
                         [](const auto& at) { return std::string(at.param); });

// `nodes` agents on this machine, which share no memory: shared memory within, a network between.
TEST(Training, SpansNodes) {
  const std::vector<std::string> command = {
      PHALANX_COMMAND, "run", "--nodes", "localhost:2,localhost:1", "--", "train", "--epochs", "2"};
  const std::string digest = RunAndTakeDigest(command, 3, {});
  EXPECT_EQ(RunAndTakeDigest(command, 3, {}), digest);
}

TEST(Training, AKilledRankIsNamedByAllOthersAndNobodyIsLeft) {
  Subprocess run(Train(4, {"--epochs", "1000000"}));
  ASSERT_TRUE(run.AwaitText("epoch  3"));
  const std::vector<pid_t> workers = RanksOf(run);
  ASSERT_EQ(workers.size(), 4u);
  kill(workers[2], SIGKILL);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGKILL);
  EXPECT_EQ(Count(run.error(), "train: "), 3) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("(pid " + std::to_string(workers[2]) + ")"));
  EXPECT_THAT(run.error(), HasSubstr("was killed by signal 9 (SIGKILL)"));
  for (const pid_t worker : workers) EXPECT_TRUE(AwaitGone(worker));
}

TEST(Training, NobodySurvivesTheLauncher) {
  Subprocess run(Train(4, {"--epochs", "1000000"}));
  ASSERT_TRUE(run.AwaitText("epoch  3"));
  const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  ASSERT_GE(children.size(), 5u);  // the coordinator too
  run.Signal(SIGKILL);
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

TEST(Training, ASignalEndsIt) {
  Subprocess run(Train(4, {"--epochs", "1000000"}));
  ASSERT_TRUE(run.AwaitText("epoch  3"));
  const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGINT);
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

TEST(Training, BadArgumentsAreNamed) {
  Subprocess run(Train(2, {"--epochs", "none"}));
  EXPECT_EQ(run.AwaitExitCode(), 1);
  EXPECT_THAT(run.error(), HasSubstr("--epochs none"));
  Subprocess alone({TRAIN});
  EXPECT_EQ(alone.AwaitExitCode(), 1);
  EXPECT_THAT(alone.error(), HasSubstr("phalanx run"));
}

}  // namespace
}  // namespace phalanx::testing_support
