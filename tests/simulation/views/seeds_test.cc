// Random mixtures of everything that can go wrong.
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::control::simulation {
namespace {

// One thread, so a sanitizer learns little from more seeds, each of which takes it far longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeedsOfPart = 500;
#else
constexpr uint64_t kSeedsOfPart = 5'000;
#endif

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, OneViewAnEpochAndEveryJobEnds) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, &tally), "");
  }
  std::printf("%s\n", Describe(tally).c_str());
  // All that it is about has happened, and often.
  EXPECT_GT(tally.ended_well, kSeedsOfPart / 3);
  EXPECT_GT(tally.views, kSeedsOfPart / 6);
  EXPECT_GT(tally.killed, kSeedsOfPart / 4);
  EXPECT_GT(tally.evicted, kSeedsOfPart / 50);
  EXPECT_GT(tally.promoted, kSeedsOfPart / 4);
  EXPECT_GT(tally.restarted, kSeedsOfPart / 50);
  EXPECT_EQ(tally.replaced.count("fail"), 0U);
  EXPECT_GT(tally.replaced["spare,fail"], kSeedsOfPart / 200);
  EXPECT_GT(tally.replaced["restart,fail"], kSeedsOfPart / 500);
  EXPECT_GT(tally.replaced["restart,spare,fail"], kSeedsOfPart / 200);
  EXPECT_GT(tally.agents_killed, kSeedsOfPart / 12);
  EXPECT_GT(tally.cuts, kSeedsOfPart / 50);
  EXPECT_GT(tally.frozen, kSeedsOfPart / 20);
  EXPECT_GT(tally.nodes_evicted, kSeedsOfPart / 250);
  EXPECT_GT(tally.crashes, kSeedsOfPart / 4);
  EXPECT_GT(tally.unwritten, kSeedsOfPart / 250);
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::control::simulation
