// Random mixtures of everything that can go wrong.
#include <cstdint>
#include <cstdio>

#include "gtest/gtest.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

// One thread, so a sanitizer learns little from more seeds, each of which takes it far longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeedsOfPart = 500;
#else
constexpr uint64_t kSeedsOfPart = 5'000;
#endif

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, OneHistoryAndEveryRequestEnds) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, &tally), "");
  }
  std::printf("%s\n", Describe(tally).c_str());
  // All that it is about has happened, and often.
  EXPECT_GT(tally.reads, kSeedsOfPart);
  EXPECT_GT(tally.changes, kSeedsOfPart * 3);
  EXPECT_GT(tally.replaced, kSeedsOfPart / 5);
  EXPECT_GT(tally.conflicts, kSeedsOfPart);
  EXPECT_GT(tally.unknown, kSeedsOfPart / 5);
  EXPECT_GT(tally.crashes, kSeedsOfPart / 2);
  EXPECT_GT(tally.unwritten, kSeedsOfPart / 20);
  EXPECT_GT(tally.wipes, kSeedsOfPart / 10);
  EXPECT_GT(tally.freezes, kSeedsOfPart / 2);
  EXPECT_GT(tally.cuts, kSeedsOfPart / 2);
  EXPECT_GT(tally.alive, kSeedsOfPart * 3 / 5);
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::membership::simulation
