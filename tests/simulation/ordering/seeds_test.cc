// Random programs under random delays, pauses, repeated messages and deaths of the sequencer.
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "judge.h"

namespace phalanx::ordering::simulation {
namespace {

// The cores have one thread, so a sanitizer learns little from more seeds, each of which takes it
// twenty times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeedsOfPart = 500;
#else
constexpr uint64_t kSeedsOfPart = 5'000;
#endif

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, CompletesWhatCanCompleteAndExplainsTheRest) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, &tally), "");
  }
  // All that it is about has happened, and often.
  EXPECT_GT(tally.completed, kSeedsOfPart * 2 / 5);
  EXPECT_GT(tally.cycles, kSeedsOfPart / 10);
  EXPECT_GT(tally.absent, kSeedsOfPart / 100);
  EXPECT_GT(tally.mismatches, kSeedsOfPart / 100);
  EXPECT_GT(tally.certified_launches, kSeedsOfPart * 2 / 5);
  EXPECT_GT(tally.fences, kSeedsOfPart / 25);
  std::printf("%s\n", Describe(tally).c_str());
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::ordering::simulation
