// A rank is lost and a spare takes its place: `phalanx run --spares 1 --fault … -- train`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Train(int spares, const std::vector<std::string>& faults,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {PHALANX_COMMAND,       "run", "-n", "4", "--spares",
                                      std::to_string(spares)};
  for (const std::string& fault : faults) {
    command.push_back("--fault");
    command.push_back(fault);
  }
  command.insert(command.end(), more.begin(), more.end());
  command.insert(command.end(), {"--", "train"});
  return command;
}

// Of a run without faults: twenty epochs of 24 steps.
const std::string& UndisturbedWeights() {
  static const auto* const weights = [] {
    Subprocess run(Train(0, {}));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    const std::vector<std::string> digests = Digests(run.output());
    EXPECT_EQ(digests.size(), 4u) << run.output();
    return new std::string(digests.empty() ? "none" : digests[0]);
  }();
  return *weights;
}

void ExpectUndisturbedWeights(const Subprocess& run) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(run.output(),
                HasSubstr("rank " + std::to_string(rank) + "  weights " + UndisturbedWeights()));
  }
  EXPECT_EQ(Count(run.output(), "weights "), 4) << run.output();
}

TEST(Recovery, AKilledRanksPlaceIsTakenAndTheWeightsAreThoseOfARunWithoutTheFault) {
  Subprocess undisturbed(Train(0, {}));
  ASSERT_EQ(undisturbed.AwaitExitCode(), 0) << undisturbed.error();
  ExpectUndisturbedWeights(undisturbed);

  Subprocess run(Train(1, {"kill rank=2 at=step:120"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] rank 2  weights"));
  EXPECT_THAT(run.error(), HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 2"));
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  // From a checkpoint: what was done before is not done again.
  EXPECT_EQ(Count(run.output(), "epoch  1 "), 1) << run.output();
  EXPECT_THAT(run.error(), Not(HasSubstr("all ranks go on from step 0 "))) << run.error();
}

TEST(Recovery, EveryKindOfFaultAndEveryRank) {
  const std::vector<std::string> faults = {"segfault rank=0 at=step:30", "exit rank=3 at=step:31",
                                           "kill rank=1 at=step:479"};
  for (const std::string& fault : faults) {
    Subprocess run(Train(1, {fault}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << fault << "\n" << run.error();
    ExpectUndisturbedWeights(run);
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  }
}

TEST(Recovery, BeforeTheFirstCheckpointAllBeginAnew) {
  Subprocess run(Train(1, {"kill rank=2 at=step:0"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), HasSubstr("all ranks go on from step 0 ")) << run.error();
}

TEST(Recovery, TheSameRankAgainAndAgain) {
  std::vector<std::string> faults;
  for (int step = 20; step < 120; step += 10) {
    faults.push_back("kill rank=2 at=step:" + std::to_string(step));
  }
  Subprocess run(Train(10, faults));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_EQ(Count(run.error(), "recovered in "), 10) << run.error();
}

TEST(Recovery, TwoAtOnce) {
  Subprocess run(Train(2, {"kill rank=1 at=step:50", "kill rank=3 at=step:50"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
}

TEST(Recovery, WithoutASpareTheJobEndsWithTheReasonAndTheCode) {
  Subprocess run(Train(0, {"exit rank=1 at=step:50 code=9"}));
  EXPECT_EQ(run.AwaitExitCode(), 9) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("exited with code 9"));
}

TEST(Recovery, WhenTheSparesAreUsedUpTheLastLossEndsTheJob) {
  Subprocess run(Train(1, {"kill rank=2 at=step:50", "exit rank=0 at=step:60 code=9"}));
  EXPECT_EQ(run.AwaitExitCode(), 9) << run.error();
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("exited with code 9"));
}

TEST(Recovery, ASpareThatIsNotNeededEndsWithTheOthers) {
  Subprocess run(Train(2, {}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.output(), Not(HasSubstr("[spare")));
  EXPECT_EQ(
      run.error(),
      "phalanx: info: the job survives the loss of 2 ranks, of the coordinator; not the end of "
      "this command\n");
}

TEST(Recovery, OnSeveralNodesASpareOfTheSameNodeIsTaken) {
  Subprocess run({PHALANX_COMMAND, "run", "--nodes", "localhost:2,localhost:2", "--spares", "2",
                  "--fault", "kill rank=3 at=step:100", "--", "train"});
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), "weights "), 4) << run.output();
  EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 3: pid"));
  EXPECT_THAT(run.error(), HasSubstr("on node 1"));
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
}

TEST(Recovery, AProgramThatDoesNotUseRunEndsAsBefore) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--spares", "1", "--", "sh", "-c", "exit 7"});
  EXPECT_EQ(run.AwaitExitCode(), 7) << run.error();
}

TEST(Recovery, TheCoordinatorDiesAtEveryPointOfSavingAndOfAViewsChange) {
  for (const char* point :
       {"stored", "committed", "revoked", "proposed", "restoring", "restored"}) {
    Subprocess run(
        Train(1, {"kill rank=2 at=step:120", std::string("kill coordinator at=point:") + point}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << point << "\n" << run.error();
    ExpectUndisturbedWeights(run);
    EXPECT_EQ(Count(run.error(), "starting it again"), 1) << point << "\n" << run.error();
  }
}

TEST(Recovery, TheCoordinatorDiesAtATime) {
  Subprocess run(Train(0, {"kill coordinator at=time:100ms", "kill coordinator at=time:150ms"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_EQ(Count(run.error(), "starting it again"), 2) << run.error();
}

TEST(Recovery, WrongFaultsAreUsageErrors) {
  for (const char* fault : {"kill rank=2", "murder rank=2 at=step:1", "kill rank=4 at=step:1",
                            "stop node=0 at=step:1", "exit rank=2 at=time:1s"}) {
    Subprocess run(Train(1, {fault}));
    EXPECT_EQ(run.AwaitExitCode(), 2) << fault;
    EXPECT_THAT(run.error(), HasSubstr("--help"));
  }
}

TEST(Recovery, CtrlCEndsTheSparesToo) {
  Subprocess run(
      {PHALANX_COMMAND, "run", "-n", "2", "--spares", "2", "--", "train", "--epochs", "100000"});
  ASSERT_TRUE(run.AwaitText("epoch  3"));
  const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  EXPECT_GE(children.size(), 4u);
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGINT);
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

}  // namespace
}  // namespace phalanx::testing_support
