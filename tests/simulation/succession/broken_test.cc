// The simulation notices a shell that breaks one of the rules; and a seed is a run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

constexpr uint64_t kSeeds = 1'000;

// The first thing of this kind that goes wrong.
std::string Notices(Broken broken, const std::string& what) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Options options = RandomOptions(seed);
    options.voters = std::max(3, options.voters);  // one alone has nobody to contradict it
    options.nodes = std::max(options.nodes, options.voters);
    options.broken = broken;
    Tally tally;
    const std::string wrong = World(options).Run(&tally);
    if (wrong.empty() || wrong.find(what) == std::string::npos) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    return wrong;
  }
  return "";
}

TEST(BrokenTest, ACoordinatorThatOneVoterAloneHasAccepted) {
  EXPECT_NE(Notices(Broken::kOneVoterIsEnough, "which isn't committed"), "");
}

TEST(BrokenTest, AMinorityThatGoesOn) {
  EXPECT_NE(Notices(Broken::kOneVoterIsEnough, "run although only"), "");
}

TEST(BrokenTest, BallotsThatAreComparedByTheirProposersFirst) {
  EXPECT_NE(Notices(Broken::kComparesProposers, ""), "");
}

TEST(BrokenTest, AnAnswerThatCountsFromWhenItComes) {
  EXPECT_NE(Notices(Broken::kAnswersAreNews, "run although only"), "");
}

TEST(BrokenTest, OrdersWithoutALease) {
  EXPECT_NE(Notices(Broken::kOrdersWithoutALease, "gives orders although only"), "");
}

TEST(BrokenTest, AClaimWhomeverTheRecordNames) {
  EXPECT_NE(Notices(Broken::kClaimsInAnyCase, "but was started for"), "");
}

TEST(TraceTest, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string traces[2];
    for (std::string& trace : traces) {
      Options options = RandomOptions(seed);
      options.trace = [&trace](const std::string& line) { trace += line + "\n"; };
      Tally tally;
      World(options).Run(&tally);
    }
    EXPECT_EQ(traces[0], traces[1]);
    EXPECT_NE(traces[0].find("has claimed"), std::string::npos) << "seed " << seed;
  }
}

}  // namespace
}  // namespace phalanx::membership::simulation
