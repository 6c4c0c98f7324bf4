// The simulation notices a shell or an agent that breaks one of the rules; and a seed is a run.
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::control::simulation {
namespace {

constexpr uint64_t kSeeds = 2'000;

// The first thing of this kind that goes wrong.
std::string Notices(Broken broken, const std::string& what) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Options options = RandomOptions(seed);
    options.broken = broken;
    Tally tally;
    const std::string wrong = World(options).Run(&tally);
    if (wrong.find(what) == std::string::npos) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    return wrong;
  }
  return "";
}

TEST(BrokenTest, AViewThatIsHeardBeforeItIsDurable) {
  EXPECT_NE(Notices(Broken::kAnnouncesEarly, "is heard before it is durable"), "");
}

TEST(BrokenTest, AnEpochThatIsUsedAgain) {
  EXPECT_NE(Notices(Broken::kForgetsRecord, "is used again"), "");
}

TEST(BrokenTest, APlaceThatIsGivenAwayBeforeTheEvictedHasEnded) {
  EXPECT_NE(Notices(Broken::kEvictedNotAwaited, "is given away while"), "");
}

TEST(BrokenTest, ANodeThatIsEvictedAlthoughItIsThere) {
  EXPECT_NE(Notices(Broken::kDeafToNode0, "is evicted although it can be heard"), "");
}

TEST(TraceTest, TheSameSeedGivesTheSameRun) {
  int with_agents = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::string traces[2];
    for (std::string& trace : traces) {
      Options options = RandomOptions(seed);
      options.trace = [&trace](const std::string& line) { trace += line + "\n"; };
      Tally tally;
      World(options).Run(&tally);
    }
    EXPECT_EQ(traces[0], traces[1]);
    with_agents += traces[0].find("says AgentHello") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(with_agents, 40);
}

}  // namespace
}  // namespace phalanx::control::simulation
