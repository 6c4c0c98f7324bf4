// Lost processes are started anew on their node: `phalanx run --max-restarts N`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

class Restarts : public SparesFixture {
 protected:
  static void SetUpTestSuite() {
    Subprocess run(Command({"-n", "4"}, {"train"}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    weights_ = new std::vector<std::string>(Digests(run.output()));
    ASSERT_EQ(weights_->size(), 4u) << run.output();
  }
  static void TearDownTestSuite() { delete weights_; }

  static void ExpectUndisturbed(Subprocess& run, int recoveries) {
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    EXPECT_EQ(Digests(run.output()), *weights_) << run.output();
    EXPECT_EQ(Count(run.error(), "recovered in "), recoveries) << run.error();
  }

  static inline std::vector<std::string>* weights_ = nullptr;
};

TEST_F(Restarts, WithoutASpareANewProcessTakesThePlace) {
  Subprocess run(
      Command({"-n", "4", "--max-restarts", "1", "--fault", "kill rank=2 at=step:120"}, {"train"}));
  ExpectUndisturbed(run, 1);
  EXPECT_THAT(run.error(), HasSubstr("started another process: spare 0\n"));
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] rank 2  weights"));
}

TEST_F(Restarts, TheNextSpareIsReadyForTheNextLoss) {
  Subprocess run(Command({"-n", "4", "--spares", "1", "--max-restarts", "1", "--fault",
                          "kill rank=2 at=step:120", "--fault", "segfault rank=2 at=step:300"},
                         {"train"}));
  ExpectUndisturbed(run, 2);
  EXPECT_THAT(run.output(), HasSubstr("[spare 1] rank 2  weights"));
}

TEST_F(Restarts, OnceTheyAreUsedUpALossEndsTheJobWithItsCode) {
  Subprocess run(Command({"-n", "4", "--max-restarts", "1", "--fault", "kill rank=2 at=step:50",
                          "--fault", "exit rank=1 at=step:90 code=9"},
                         {"train"}));
  EXPECT_EQ(run.AwaitExitCode(), 9) << run.error();
  EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
}

TEST_F(Restarts, OnTheNodeThatHasLostOne) {
  const std::string nodes = "localhost:2,localhost:2";
  Subprocess undisturbed(Command({"--nodes", nodes}, {"train"}));
  ASSERT_EQ(undisturbed.AwaitExitCode(), 0) << undisturbed.error();
  Subprocess run(Command({"--nodes", nodes, "--max-restarts", "1", "--fault",
                          "kill rank=3 at=step:50", "--fault", "kill rank=0 at=step:90"},
                         {"train"}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()), Digests(undisturbed.output())) << run.output();
  EXPECT_EQ(Count(run.error(), "recovered in "), 2) << run.error();
  EXPECT_EQ(Count(run.error(), "started another process: spare 0 on localhost\n"), 2)
      << run.error();
}

TEST_F(Restarts, AFrozenRankIsReplacedByANewProcess) {
  Subprocess run(
      Command({"-n", "4", "--max-restarts", "1", "--fault", "stop rank=1 at=step:80"}, {"train"}));
  ExpectUndisturbed(run, 1);
  EXPECT_THAT(run.error(), HasSubstr("it is evicted"));
}

TEST_F(Restarts, AnotherCoordinatorKnowsWhatIsLeft) {
  Subprocess run(
      Command({"-n", "4", "--max-restarts", "2", "--fault", "kill rank=2 at=step:50", "--fault",
               "kill coordinator at=point:revoked", "--fault", "kill rank=0 at=step:90"},
              {"train"}));
  ExpectUndisturbed(run, 2);
}

// A device is chosen by it.
TEST_F(Restarts, TheNewProcessHasTheLocalRankOfTheOneThatIsGone) {
  Subprocess run(
      Command({"-n", "2", "--max-restarts", "1"},
              {"/bin/sh", "-c",
               "echo \"local $PHALANX_LOCAL_RANK rank $PHALANX_RANK.\"; exec \"$0\" until \"$1\"",
               RECOVERY_WORKER, Done()}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  Kill(PidOf(run, "1"));
  ASSERT_TRUE(run.AwaitText("epoch 2\n", 2));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] local 1 rank .\n"));
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] place 1 epoch 2\n"));
  ExpectNobodyLeft(run);
}

TEST_F(Restarts, ANewProcessThatCannotWorkEndsTheJob) {
  Subprocess run(
      Command({"-n", "2", "--max-restarts", "2"},
              {"/bin/sh", "-c", "[ -n \"$PHALANX_RANK\" ] || exit 3; exec \"$0\" until \"$1\"",
               RECOVERY_WORKER, Done()}));
  ASSERT_TRUE(run.AwaitText("epoch 1\n", 2));
  Kill(PidOf(run, "1"));
  EXPECT_EQ(run.AwaitExitCode(), 3) << run.error();
  EXPECT_EQ(Count(run.error(), "warning: a spare on node 0"), 2) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("no spare is left for rank 1"));
}

}  // namespace
}  // namespace phalanx::testing_support
