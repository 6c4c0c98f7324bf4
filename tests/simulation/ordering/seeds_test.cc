// Random programs under random delays, pauses, repeated messages and deaths of the sequencer.
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "judge.h"

namespace phalanx::ordering::simulation {
namespace {

constexpr uint64_t kSeedsOfPart = 5'000;

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, CompletesWhatCanCompleteAndExplainsTheRest) {
  const uint64_t first = GetParam() * kSeedsOfPart;
  Tally tally;
  for (uint64_t seed = first; seed < first + kSeedsOfPart; ++seed) {
    ASSERT_EQ(JudgeSeed(seed, &tally), "");
  }
  // All that it is about has happened, and often.
  EXPECT_GT(tally.completed, 2'000U);
  EXPECT_GT(tally.cycles, 500U);
  EXPECT_GT(tally.absent, 50U);
  EXPECT_GT(tally.mismatches, 50U);
  EXPECT_GT(tally.certified_launches, 2'000U);
  EXPECT_GT(tally.fences, 200U);
  std::printf("%s\n", Describe(tally).c_str());
}

INSTANTIATE_TEST_SUITE_P(Parts, SeedsTest, testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace phalanx::ordering::simulation
