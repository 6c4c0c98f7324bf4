// The coordinator is killed, whatever the job does just then: another one goes on from the record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

class CoordinatorLoss : public SparesFixture {
 protected:
  static void KillCoordinator(const Subprocess& run) {
    const std::vector<pid_t> coordinators = ChildrenOf(run.pid(), "coordinator");
    ASSERT_EQ(coordinators.size(), 1u);
    Kill(coordinators[0]);
  }
  static bool AwaitError(Subprocess& run, const std::string& text, int times = 1) {
    return run.AwaitOutput([&] { return Count(run.error(), text) >= times; });
  }
};

TEST_F(CoordinatorLoss, AllRanksGoOnInTheNextViewAndNobodyIsReplaced) {
  Subprocess run(UntilDone({"-n", "3"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
  KillCoordinator(run);
  ASSERT_TRUE(run.AwaitText("epoch 2\n", 3));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 3);
  EXPECT_THAT(run.error(), HasSubstr("was killed by signal 9 (SIGKILL); starting it again"));
  EXPECT_THAT(run.error(), HasSubstr("the coordinator is back, with the record of epoch 1"));
  EXPECT_EQ(NumbersAfter(run.output(), "] pid ").size(), 3u) << run.output();
  ExpectNobodyLeft(run);
}

TEST_F(CoordinatorLoss, OnSeveralNodes) {
  Subprocess run(UntilDone({"--nodes", "localhost:2,localhost:1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
  KillCoordinator(run);
  ASSERT_TRUE(run.AwaitText("epoch 2\n", 3));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 3);
}

TEST_F(CoordinatorLoss, EpochsRiseOverSeveralOfThem) {
  Subprocess run(UntilDone({"-n", "2"}));
  for (int epoch = 1; epoch <= 4; ++epoch) {
    ASSERT_TRUE(run.AwaitText("epoch " + std::to_string(epoch) + "\n", 2)) << run.error();
    KillCoordinator(run);
  }
  ASSERT_TRUE(run.AwaitText("epoch 5\n", 2));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 2);
}

TEST_F(CoordinatorLoss, OneThatDiesAgainAndAgainEndsTheJob) {
  Subprocess run(UntilDone({"-n", "2"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  // As fast as they come: whether one counts depends on the time since the others.
  for (int started = 0; started < 5; ++started) {
    KillCoordinator(run);
    ASSERT_TRUE(AwaitError(run, "the coordinator is back", started + 1)) << run.error();
  }
  KillCoordinator(run);
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr("again and again"));
  ExpectNobodyLeft(run);
}

TEST_F(CoordinatorLoss, TogetherWithARank) {
  Subprocess run(UntilDone({"-n", "3", "--spares", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
  ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
  Kill(PidOf(run, "1"));
  KillCoordinator(run);
  ASSERT_TRUE(run.AwaitText("[spare 0] place 1 epoch "));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 3);
  ExpectNobodyLeft(run);
}

TEST_F(CoordinatorLoss, WhileRanksAreStillToJoin) {
  const std::string late = folder_ + "/late";
  ASSERT_EQ(mkfifo(late.c_str(), 0600), 0);
  const std::string script =
      "[ $PHALANX_RANK = 0 ] || read word < " + late + "; exec " RECOVERY_WORKER " until " + Done();
  Subprocess run(Command({"-n", "2"}, {"sh", "-c", script}));
  ASSERT_TRUE(run.AwaitText("[0] pid "));
  KillCoordinator(run);
  ASSERT_TRUE(AwaitError(run, "starting it again"));
  // Open for both, so that it doesn't wait for a reader; until that one has read.
  std::fstream now(late, std::ios::in | std::ios::out);
  now << "now\n" << std::flush;
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 2);
}

TEST_F(CoordinatorLoss, OutsideOfRunItEndsTheJobWithTheReason) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--", PHALANX_COMMAND, "bench", "all_reduce",
                  "--min", "1", "--max", "1G"});
  ASSERT_TRUE(run.AwaitText("float"));
  const auto start = std::chrono::steady_clock::now();
  KillCoordinator(run);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.error();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  EXPECT_THAT(run.error(), HasSubstr("was outside of Run when the coordinator was lost"));
}

}  // namespace
}  // namespace phalanx::testing_support
