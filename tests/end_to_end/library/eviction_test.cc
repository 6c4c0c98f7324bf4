// A node is frozen as a whole: `phalanx run --nodes … --fault 'stop node=N'`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"
#include "training.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kEpochs = 30;

const std::vector<std::string> kNodes = {"--nodes", "localhost:1,localhost:2,localhost:1"};

// Each node has two, of which those of the other two are enough for the frozen one's ranks.
std::vector<std::string> WithSpares() {
  std::vector<std::string> options = kNodes;
  options.insert(options.end(), {"--spares", "6"});
  return options;
}

Subprocess::Options Impatient() {
  Subprocess::Options options;
  options.environment["PHALANX_WITNESS_WAIT_MS"] = "1000";
  return options;
}

void ExpectUndisturbedWeights(const Subprocess& run) {
  EXPECT_EQ(Digests(run.output()), UndisturbedWeights(kNodes, kEpochs)) << run.output();
}

void ExpectEvictedOnce(const Subprocess& run) {
  EXPECT_EQ(Count(run.error(), " is evicted: it has said nothing for "), 1) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 1")) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 2")) << run.error();
}

TEST(Eviction, ANodeIsStoppedForGoodAndNobodyWaitsForIt) {
  Subprocess run(Train(WithSpares(), {"stop node=1 at=time:100ms"}, kEpochs), Impatient());
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  ExpectEvictedOnce(run);
  for (const pid_t pid : NumbersAfter(run.output(), "] pid ")) EXPECT_TRUE(AwaitGone(pid));
}

// It wakes at some moment after its eviction, or when the others are done.
TEST(Eviction, TheWeightsAreThoseOfARunWithoutTheFaultAlsoIfItWakes) {
  Subprocess run(Train(WithSpares(), {"stop node=1 at=time:100ms for=3s"}, kEpochs), Impatient());
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
}

using EvictionOfOneThatWakes = SparesFixture;

// It finds itself refused while the others go on.
TEST_F(EvictionOfOneThatWakes, LeavesByItself) {
  std::vector<std::string> options = WithSpares();
  options.insert(options.end(), {"--fault", "stop node=1 at=time:100ms for=6s"});
  Subprocess run(UntilDone(options), Impatient());
  ASSERT_TRUE(run.AwaitOutput([&] {
    return Count(run.error(), "this node was evicted, and the job goes on without it") > 0;
  })) << run.error();
  for (const char* label : {"1", "2"}) EXPECT_TRUE(AwaitGone(PidOf(run, label))) << label;
  ExpectEvictedOnce(run);
  LetEnd();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectSums(run, 4);
  ExpectNobodyLeft(run);
}

TEST(Eviction, AShortStopDoesNoHarm) {
  Subprocess run(Train(WithSpares(), {"stop node=1 at=time:100ms for=500ms"}, kEpochs),
                 Impatient());
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), Not(HasSubstr("evicted"))) << run.error();
  EXPECT_THAT(run.error(), Not(HasSubstr("recovered in "))) << run.error();
}

// The next coordinator knows it from the record, in which there is no other view yet.
TEST(Eviction, ACoordinatorThatIsLostMeanwhileChangesNothing) {
  Subprocess run(Train(WithSpares(),
                       {"stop node=1 at=time:100ms", "kill coordinator at=point:revoked"}, kEpochs),
                 Impatient());
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), HasSubstr("the coordinator is back")) << run.error();
}

}  // namespace
}  // namespace phalanx::testing_support
