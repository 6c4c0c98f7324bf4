// Random clusters, losses at every moment, messages in any order.
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "judge.h"

namespace phalanx::checkpoint::simulation {
namespace {

// The cores have one thread, so a sanitizer learns little from more seeds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeedsOfPart = 250;
#else
constexpr uint64_t kSeedsOfPart = 5'000;
#endif

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, LosesNothingThatWasCommittedAndMixesNothing) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, nullptr, &tally), "");
  }
  // All that it is about has happened, and often.
  EXPECT_GT(tally.commit.commits, kSeedsOfPart);
  EXPECT_GT(tally.commit.restores, kSeedsOfPart);
  EXPECT_GT(tally.commit.unknown, kSeedsOfPart / 10);
  EXPECT_GT(tally.commit.corrupt, kSeedsOfPart / 10);
  EXPECT_GT(tally.commit.lost, kSeedsOfPart / 20);
  EXPECT_GT(tally.commit.adopted, kSeedsOfPart / 20);
  EXPECT_GT(tally.vote.steps, kSeedsOfPart);
  EXPECT_GT(tally.vote.finished_by_survivors, kSeedsOfPart / 20);
  EXPECT_GT(tally.vote.recomputed, kSeedsOfPart / 1000);
  EXPECT_GT(tally.vote.copies, kSeedsOfPart / 10);
  std::printf("%s\n", Describe(tally).c_str());
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::checkpoint::simulation
