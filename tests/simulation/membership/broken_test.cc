// The simulation notices a shell that breaks one of the register's rules.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

constexpr uint64_t kSeeds = 5'000;

// The first seed at which the proposers' callers can see that there isn't one history, and how.
// That a request doesn't commit at the end says nothing here.
std::string Notices(Broken broken) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Options options = RandomOptions(seed);
    options.voters = std::max(3, options.voters);  // one alone has nobody to contradict it
    options.broken = broken;
    Tally tally;
    const std::string wrong = World(options).Run(&tally);
    if (wrong.empty() || wrong.starts_with("a majority")) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    return wrong;
  }
  return "";
}

TEST(BrokenTest, AnEmptyVoterThatVotes) { EXPECT_NE(Notices(Broken::kEmptyVoterVotes), ""); }

TEST(BrokenTest, AnAnswerBeforeTheStateIsOnTheDisk) {
  EXPECT_NE(Notices(Broken::kAnswerBeforeDisk), "");
}

TEST(BrokenTest, HalfOfTheVotersAsAQuorum) { EXPECT_NE(Notices(Broken::kSmallQuorum), ""); }

}  // namespace
}  // namespace phalanx::membership::simulation
