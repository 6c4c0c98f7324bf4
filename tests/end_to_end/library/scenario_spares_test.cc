// Named scenarios of losses at bad moments: of spares, of those who haven't begun, of many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"
#include "training.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kFour = {"-n", "4"};

std::vector<std::string> FourWith(int spares) {
  return {"-n", "4", "--spares", std::to_string(spares)};
}

void ExpectUndisturbedWeights(const Subprocess& run, int epochs = 20) {
  EXPECT_EQ(Digests(run.output()), UndisturbedWeights(kFour, epochs)) << run.output();
}

// The spare that has just been given the place, wherever its promotion is.
TEST(Scenario4, ASpareThatDiesDuringItsPromotionIsFollowedByTheNextOne) {
  for (const char* point : {"restoring", "restored"}) {
    Subprocess run(Train(FourWith(2),
                         {"kill rank=2 at=step:60", std::string("kill rank=2 at=point:") + point}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << point << "\n" << run.error();
    ExpectUndisturbedWeights(run);
    EXPECT_EQ(Count(run.error(), "a spare takes the place of rank 2"), 2) << run.error();
  }
}

TEST(Scenario4, AWaitingSpareThatDiesJustThenIsntTaken) {
  Subprocess run(Train(FourWith(2), {"kill rank=2 at=step:60", "kill spare=0 at=point:revoked"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
}

TEST(Scenario4, WhenTheLastSpareDiesDuringItsPromotionTheJobEndsWithTheReason) {
  Subprocess run(Train(FourWith(1), {"kill rank=2 at=step:60", "kill rank=2 at=point:restoring"}));
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("ending the job: rank 2 ")) << run.error();
  EXPECT_EQ(Count(run.output(), "weights "), 0) << run.output();
}

class Scenario12 : public SparesFixture {
 protected:
  // Rank 1 comes once something is written to that pipe.
  std::string Late() const { return folder_ + "/late"; }
  std::vector<std::string> WithALateRank(const std::string& spares) const {
    EXPECT_EQ(mkfifo(Late().c_str(), 0600), 0);
    const std::string script = "[ \"$PHALANX_RANK\" != 1 ] || read word < " + Late() +
                               "; exec " RECOVERY_WORKER " until " + Done();
    return Command({"-n", "2", "--spares", spares}, {"sh", "-c", script});
  }
  // Rank 0 is there, which the coordinator knows, and it dies.
  static void KillTheFirst(Subprocess& run) {
    ASSERT_TRUE(run.AwaitOutput([&] { return Count(run.error(), "1 of 2 ranks joined") > 0; }));
    Kill(PidOf(run, "0"));
  }
  void LetCome() const {
    // Open for both, so that it doesn't wait for a reader.
    std::fstream now(Late(), std::ios::in | std::ios::out);
    now << "now\n" << std::flush;
  }
};

TEST_F(Scenario12, AMemberThatDiesBeforeTheFirstViewIsReplaced) {
  Subprocess run(WithALateRank("1"));
  ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
  KillTheFirst(run);
  ASSERT_TRUE(run.AwaitOutput(
      [&] { return Count(run.error(), "a spare takes the place of rank 0") == 1; }));
  LetCome();
  ASSERT_TRUE(run.AwaitText("[spare 0] place 0 epoch 1\n"));
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 2);
  ExpectNobodyLeft(run);
}

TEST_F(Scenario12, WithoutASpareTheFirstViewNeverBeginsAndTheReasonIsSaid) {
  Subprocess run(WithALateRank("0"));
  KillTheFirst(run);
  EXPECT_EQ(run.AwaitExitCode(), 137) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("rank 0 (pid "));
  EXPECT_THAT(run.error(), HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(run.output(), Not(HasSubstr("place ")));
  ExpectNobodyLeft(run);
}

// One each tenth of a second, whatever they do just then.
TEST(Scenario17, TenKillsInARow) {
  constexpr int kEpochs = 50;
  std::vector<std::string> faults;
  for (int i = 1; i <= 10; ++i) {
    faults.push_back("kill rank=" + std::to_string(i % 4) + " at=time:" + std::to_string(i) +
                     "00ms");
  }
  Subprocess run(Train(FourWith(10), faults, kEpochs));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run, kEpochs);
  EXPECT_GE(Count(run.error(), "recovered in "), 1) << run.error();
}

TEST(Scenario17, TenKillsInARowByStep) {
  std::vector<std::string> faults;
  for (int i = 0; i < 10; ++i) {
    faults.push_back("kill rank=" + std::to_string(i % 4) +
                     " at=step:" + std::to_string(30 + 40 * i));
  }
  Subprocess run(Train(FourWith(10), faults));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_EQ(Count(run.error(), "recovered in "), 10) << run.error();
}

TEST(Scenario18, ARankDiesBeforeTheFirstCommit) {
  for (const char* fault : {"kill rank=1 at=step:0", "kill rank=1 at=point:stored"}) {
    Subprocess run(Train(FourWith(1), {fault}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << fault << "\n" << run.error();
    ExpectUndisturbedWeights(run);
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  }
}

TEST(Scenario18, ARankDiesAtTheLastStep) {
  for (const int rank : {0, 3}) {
    Subprocess run(Train(FourWith(1), {"kill rank=" + std::to_string(rank) + " at=step:479"}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbedWeights(run);
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  }
}

using Scenario18Last = SparesFixture;

// The others have come to the end of what they do, and do it again with the one that died.
TEST_F(Scenario18Last, ARankDiesWhenTheOthersHaveFinished) {
  Subprocess run(Command({"-n", "3", "--spares", "1"}, {RECOVERY_WORKER, "last", "1"}));
  ASSERT_TRUE(run.AwaitText("[spare 0] joined\n"));
  ASSERT_TRUE(run.AwaitText("done epoch 1\n", 2));
  Kill(PidOf(run, "1"));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Count(run.output(), "done epoch 2\n"), 3) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] place 1 epoch 2\n"));
  ExpectSums(run, 3);
  ExpectNobodyLeft(run);
}

}  // namespace
}  // namespace phalanx::testing_support
