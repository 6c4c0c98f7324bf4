// Workers of a job with spares are killed from outside, whatever they do just then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

using Replacement = SparesFixture;

TEST_F(Replacement, EveryRankOnceFromOutside) {
  for (int rank = 0; rank < 3; ++rank) {
    std::filesystem::remove(Done());
    Subprocess run(UntilDone({"-n", "3", "--spares", "1"}));
    ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
    ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
    Kill(PidOf(run, std::to_string(rank)));
    ASSERT_TRUE(run.AwaitText("epoch 2\n", 3));
    EXPECT_EQ(Count(run.output(), "[spare 0] place " + std::to_string(rank) + " epoch 2\n"), 1)
        << run.output();
    LetEnd();
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectSums(run, 3);
    ExpectNobodyLeft(run);
  }
}

TEST_F(Replacement, ALossDuringAnAllReduceDoesntWaitForItsDeadline) {
  Subprocess run(Command({"-n", "3", "--spares", "1"}, {RECOVERY_WORKER, "wait", "2"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 3));
  ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
  const auto start = std::chrono::steady_clock::now();
  Kill(PidOf(run, "2"));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  EXPECT_EQ(Count(run.output(), "epoch 2\n"), 3) << run.output();
  ExpectSums(run, 3);
}

// The child whose environment has that line; 0 if there is none.
pid_t ChildWith(pid_t parent, const std::string& line) {
  for (const pid_t child : ChildrenOf(parent, "")) {
    std::ifstream file("/proc/" + std::to_string(child) + "/environ");
    for (std::string variable; std::getline(file, variable, '\0');) {
      if (variable == line) return child;
    }
  }
  return 0;
}

// Wherever in a step that is, the weights are those of the run without.
TEST_F(Replacement, TrainingComesToTheSameWeights) {
  Subprocess undisturbed(Command({"-n", "4"}, {"train"}));
  ASSERT_EQ(undisturbed.AwaitExitCode(), 0) << undisturbed.error();
  const std::vector<std::string> expected = Digests(undisturbed.output());
  ASSERT_EQ(expected.size(), 4u) << undisturbed.output();
  for (const int epoch : {1, 4, 7, 10}) {
    Subprocess run(Command({"-n", "4", "--spares", "1"}, {"train"}));
    ASSERT_TRUE(run.AwaitText(epoch < 10 ? "epoch  " + std::to_string(epoch)
                                         : "epoch " + std::to_string(epoch)));
    Kill(ChildWith(run.pid(), "PHALANX_RANK=" + std::to_string(epoch % 4)));
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    EXPECT_EQ(Digests(run.output()), expected) << run.output();
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  }
}

TEST_F(Replacement, TheSpareIsKilledFirstSoTheNextOneIsTaken) {
  Subprocess run(UntilDone({"-n", "2", "--spares", "2"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 4));
  Kill(PidOf(run, "spare 0"));
  ASSERT_TRUE(AwaitGone(PidOf(run, "spare 0")));
  Kill(PidOf(run, "1"));
  ASSERT_TRUE(run.AwaitText("[spare 1] place 1 epoch 2\n"));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 2);
}

TEST_F(Replacement, TheSpareIsKilledFirstAndThereIsNoOther) {
  Subprocess run(UntilDone({"-n", "2", "--spares", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 3));
  Kill(PidOf(run, "spare 0"));
  ASSERT_TRUE(AwaitGone(PidOf(run, "spare 0")));
  // The job goes on without it.
  EXPECT_EQ(Count(run.output(), "epoch 2"), 0) << run.output();
  const auto start = std::chrono::steady_clock::now();
  Kill(PidOf(run, "1"));
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  EXPECT_THAT(run.error(), HasSubstr("rank 1 (pid " + std::to_string(PidOf(run, "1"))));
  EXPECT_THAT(run.error(), HasSubstr("was killed by signal 9 (SIGKILL)"));
  ExpectNobodyLeft(run);
}

TEST_F(Replacement, ASpareThatIsKilledIsNoFailureWhenItWasntNeeded) {
  Subprocess run(UntilDone({"-n", "2", "--spares", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 3));
  Kill(PidOf(run, "spare 0"));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 2);
}

TEST_F(Replacement, ThePromotedOneIsKilledToo) {
  Subprocess run(UntilDone({"-n", "2", "--spares", "2"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 4));
  Kill(PidOf(run, "1"));
  ASSERT_TRUE(run.AwaitText("epoch 2\n", 2));
  const bool first = Count(run.output(), "[spare 0] place 1 epoch 2\n") == 1;
  Kill(PidOf(run, first ? "spare 0" : "spare 1"));
  ASSERT_TRUE(run.AwaitText(first ? "[spare 1] place 1 epoch 3\n" : "[spare 0] place 1 epoch 3\n"));
  // Now nobody is left.
  const auto start = std::chrono::steady_clock::now();
  Kill(PidOf(run, "0"));
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  EXPECT_THAT(run.error(), HasSubstr("rank 0 (pid " + std::to_string(PidOf(run, "0"))));
  ExpectNobodyLeft(run);
}

// Beside shared memory there are links then, and the spare may be of another node.
TEST_F(Replacement, ARankOfEitherNode) {
  for (const char* rank : {"0", "3"}) {
    std::filesystem::remove(Done());
    Subprocess run(UntilDone({"--nodes", "localhost:2,localhost:2", "--spares", "1"}));
    ASSERT_TRUE(run.AwaitText("epoch 1\n", 4));
    ASSERT_TRUE(run.AwaitText("] joined\n", 5));
    Kill(PidOf(run, rank));
    ASSERT_TRUE(run.AwaitText("epoch 2\n", 4));
    EXPECT_EQ(Count(run.output(), "[spare 0] place " + std::string(rank) + " epoch 2\n"), 1)
        << run.output();
    LetEnd();
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectSums(run, 4);
    ExpectNobodyLeft(run);
  }
}

TEST_F(Replacement, AProgramThatDoesNotUseRunFailsWithItsCode) {
  Subprocess run(Command({"-n", "2", "--spares", "1"},
                         {"sh", "-c", "[ \"$PHALANX_RANK\" = 1 ] && exit 7; exec sleep 1000"}));
  EXPECT_EQ(run.AwaitExitCode(), 7) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("exited with code 7"));
}

TEST_F(Replacement, ARankThatDiesInAJobThatDoesNotUseRunEndsIt) {
  Subprocess run(
      Command({"-n", "2", "--spares", "1"}, {"sh", "-c",
                                             std::string("[ -n \"$PHALANX_SPARE\" ] && exec ") +
                                                 RECOVERY_WORKER + " until /nowhere; exit 5"}));
  EXPECT_EQ(run.AwaitExitCode(), 5) << run.error();
  ExpectNobodyLeft(run);
}

TEST_F(Replacement, AProgramThatCannotBeStarted) {
  Subprocess missing(Command({"-n", "2", "--spares", "1"}, {"no-such-program-anywhere"}));
  EXPECT_EQ(missing.AwaitExitCode(), 127) << missing.error();
  Subprocess denied(Command({"-n", "2", "--spares", "1"}, {"/dev/null"}));
  EXPECT_EQ(denied.AwaitExitCode(), 126) << denied.error();
}

TEST_F(Replacement, WrongNumbersOfSpares) {
  for (const char* spares : {"-1", "some", "65537"}) {
    Subprocess run(Command({"-n", "2", "--spares", spares}, {"true"}));
    EXPECT_EQ(run.AwaitExitCode(), 2) << spares;
    EXPECT_THAT(run.error(), HasSubstr("--spares"));
  }
}

TEST_F(Replacement, ASignalEndsWaitingSparesToo) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Subprocess run(UntilDone({"-n", "2", "--spares", "2"}));
    ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
    ASSERT_TRUE(run.AwaitText("] joined\n", 4));
    const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
    EXPECT_GE(children.size(), 4u);
    run.Signal(signal);
    EXPECT_EQ(run.AwaitExitCode(), 128 + signal) << run.error();
    for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
  }
}

TEST_F(Replacement, NobodySurvivesTheLauncher) {
  Subprocess run(UntilDone({"-n", "2", "--spares", "1"}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  ASSERT_TRUE(run.AwaitText("] joined\n", 3));
  const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  run.Signal(SIGKILL);
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

}  // namespace
}  // namespace phalanx::testing_support
