// Random mixtures of everything that can go wrong.
#include <cstdint>
#include <cstdio>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

// One thread, so a sanitizer learns little from more seeds, each of which takes it far longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeedsOfPart = 100;
#else
constexpr uint64_t kSeedsOfPart = 500;
#endif

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, OneCoordinatorIsFollowedAndThereIsOneInTheEnd) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, &tally), "");
  }
  std::printf("%s\n", Describe(tally).c_str());
  // All that it is about has happened, and often.
  EXPECT_GT(tally.claimed, kSeedsOfPart * 2);
  EXPECT_GT(tally.superseded, kSeedsOfPart / 10);
  EXPECT_GT(tally.orders, kSeedsOfPart * 200);
  EXPECT_GT(tally.refused, kSeedsOfPart / 2);
  EXPECT_GT(tally.held, kSeedsOfPart);
  EXPECT_GT(tally.pauses, kSeedsOfPart);
  EXPECT_GT(tally.crashes, kSeedsOfPart);
  EXPECT_GT(tally.coordinator_crashes, kSeedsOfPart);
  EXPECT_GT(tally.freezes, kSeedsOfPart);
  EXPECT_GT(tally.cuts, kSeedsOfPart);
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::membership::simulation
