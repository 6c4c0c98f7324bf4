// Named scenarios of saved copies: their holders are lost, or they go bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "subprocess.h"
#include "training.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kEpochs = 10;      // of 24 steps
constexpr int kLongEpochs = 20;  // until there is something in files
const std::vector<std::string> kOneNode = {"-n", "4"};
const std::vector<std::string> kTwoNodes = {"--nodes", "localhost:2,localhost:2"};
const std::vector<std::string> kThreeNodes = {"--nodes", "localhost:1,localhost:2,localhost:1"};
const std::vector<std::string> kFourNodes = {"--nodes",
                                             "localhost:1,localhost:1,localhost:1,localhost:1"};

std::vector<std::string> With(std::vector<std::string> placed,
                              const std::vector<std::string>& more) {
  placed.insert(placed.end(), more.begin(), more.end());
  return placed;
}

class ScenarioCopies : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/scenario_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void ExpectWeights(const Subprocess& run, const std::vector<std::string>& placed,
                            int epochs = kEpochs) {
    EXPECT_EQ(Digests(run.output()), UndisturbedWeights(placed, epochs)) << run.output();
  }

  std::string folder_;
};

using Scenario5 = ScenarioCopies;

// With one rank on each node, its other copies are on the next ones.
TEST_F(Scenario5, OfThreeCopiesTwoAreLostAtOnce) {
  Subprocess run(Train(With(kFourNodes, {"--spares", "8", "--replicas", "3"}),
                       {"kill node=0 at=point:committed", "kill node=1 at=point:committed"},
                       kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kFourNodes);
  EXPECT_THAT(run.error(), Not(HasSubstr("lost: version")));
}

// Unless the copies were made again between the two.
TEST_F(Scenario5, OfTwoCopiesBothAreLostAndTheFilesAreLeft) {
  Subprocess run(Train(
      With(kFourNodes, {"--spares", "8", "--persist", folder_}),
      {"kill rank=3 at=step:350", "kill node=0 at=point:restored", "kill node=1 at=point:restored"},
      kLongEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kFourNodes, kLongEpochs);
  EXPECT_THAT(run.error(), Not(HasSubstr("all ranks go on from step 0 "))) << run.error();
}

using Scenario9 = ScenarioCopies;

TEST_F(Scenario9, AFlippedBitOfARanksOwnCopyIsFoundAndAnotherHolderUsed) {
  Subprocess run(Train(With(kTwoNodes, {"--spares", "2"}),
                       {"kill rank=3 at=step:120", "flip rank=1 at=point:revoked"}, kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kTwoNodes);
  EXPECT_THAT(run.error(), HasSubstr(" is flipped"));
  EXPECT_THAT(run.error(), HasSubstr("a saved copy is corrupt: version "));
  EXPECT_THAT(run.error(), HasSubstr("rank 1, on node 0 'localhost' (1 corrupt so far)"));
  EXPECT_THAT(run.error(), Not(HasSubstr("lost: version")));
}

// The spare is on that node, so it reads the replica there first.
TEST_F(Scenario9, AFlippedBitOfAReplicaToo) {
  Subprocess run(Train(With(kTwoNodes, {"--spares", "1"}),
                       {"kill rank=3 at=step:120", "flip rank=3 at=point:revoked copy=1"},
                       kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kTwoNodes);
  EXPECT_THAT(run.error(), HasSubstr("rank 3, on node 0 'localhost' (1 corrupt so far)"));
  EXPECT_THAT(run.error(), Not(HasSubstr("lost: version")));
}

TEST_F(Scenario9, WhenAllCopiesAreFlippedThatIsSaidAndNothingWrongIsLoaded) {
  Subprocess run(Train(With(kTwoNodes, {"--spares", "2"}),
                       {"kill rank=3 at=step:120", "flip rank=1 at=point:revoked",
                        "flip rank=1 at=point:revoked copy=1"},
                       kEpochs));
  EXPECT_NE(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("(2 corrupt so far)"));
  EXPECT_THAT(run.error(), HasSubstr("no good copy is left of the shard of rank 1"));
  EXPECT_EQ(Count(run.output(), "weights "), 0) << run.output();
}

using Scenario10 = ScenarioCopies;

// And the coordinator: see recovery_test.
TEST_F(Scenario10, ARankDiesAtEveryPointOfSavingAndRestoring) {
  for (const char* point : {"stored", "committed", "restoring", "restored"}) {
    Subprocess run(Train(With(kOneNode, {"--spares", "2"}),
                         {"kill rank=1 at=step:60", std::string("kill rank=2 at=point:") + point},
                         kEpochs));
    ASSERT_EQ(run.AwaitExitCode(), 0) << point << "\n" << run.error();
    ExpectWeights(run, kOneNode);
    EXPECT_THAT(run.error(), HasSubstr(std::string("a fault: kill rank=2 at=point:") + point));
  }
}

TEST_F(Scenario10, ANodeDiesAtEveryPointOfSavingAndRestoring) {
  for (const char* point : {"stored", "committed", "revoked", "restoring", "restored"}) {
    Subprocess run(Train(With(kThreeNodes, {"--spares", "6"}),
                         {"kill rank=0 at=step:60", std::string("kill node=1 at=point:") + point},
                         kEpochs));
    ASSERT_EQ(run.AwaitExitCode(), 0) << point << "\n" << run.error();
    ExpectWeights(run, kThreeNodes);
    EXPECT_THAT(run.error(), HasSubstr("node 1 (localhost) was lost")) << point;
  }
}

TEST_F(Scenario10, AnAgentAloneDies) {
  Subprocess run(
      Train(With(kThreeNodes, {"--spares", "3"}), {"kill agent=1 at=point:committed"}, kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kThreeNodes);
}

using Scenario11 = ScenarioCopies;

// One rank's newest copy is gone, so all go back (unless just this version is in files), also those
// who have theirs.
TEST_F(Scenario11, WhenOneRanksCopyIsGoneAllRanksRestoreTheSameVersion) {
  Subprocess run(
      Train(With(kOneNode, {"--spares", "1", "--persist", folder_, "--persist-every", "50"}),
            {"kill rank=1 at=step:350", "flip rank=2 at=point:revoked"}, kLongEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectWeights(run, kOneNode, kLongEpochs);
  EXPECT_THAT(run.error(), HasSubstr("a saved copy is corrupt: version "));
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
}

TEST(FaultsOnTheCommandLine, WrongOnesAreUsageErrors) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {kOneNode, "kill node=0 at=time:1s"},        {kOneNode, "kill agent=0 at=time:1s"},
      {kOneNode, "kill spare=0 at=time:1s"},       {kOneNode, "flip rank=4 at=point:revoked"},
      {kOneNode, "segfault rank=1 at=time:1s"},    {kOneNode, "kill rank=1 at=op:7"},
      {kTwoNodes, "kill node=2 at=time:1s"},       {kTwoNodes, "stop node=2 at=time:1s"},
      {kTwoNodes, "kill node=1 at=point:prepared"}};
  for (const auto& [placed, fault] : wrong) {
    Subprocess run(Train(placed, {fault}));
    EXPECT_EQ(run.AwaitExitCode(), 2) << fault;
    EXPECT_THAT(run.error(), HasSubstr("--help")) << fault;
  }
}

}  // namespace
}  // namespace phalanx::testing_support
