// Random mixtures of everything that can go wrong between coordinators and their store.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "world.h"

namespace phalanx::control::simulation {
namespace {

// One thread, so a sanitizer learns little from more seeds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 500;
#else
constexpr uint64_t kSeeds = 5'000;
#endif

TEST(KeyedRecordSeeds, NoWriteIsLostAndClaimsShutOutWhoeverWasBefore) {
  Tally all;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tally tally;
    ASSERT_EQ(World(seed, Broken::kNothing).Run(&tally), "");
    all.writes += tally.writes;
    all.refused += tally.refused;
    all.recognised += tally.recognised;
  }
  std::printf("%d writes, %d refused, %d recognised\n", all.writes, all.refused, all.recognised);
  EXPECT_GT(all.writes, 0);
  EXPECT_GT(all.refused, 0);
}

std::string Notices(Broken broken) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Tally tally;
    const std::string wrong = World(seed, broken).Run(&tally);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(KeyedRecordSeeds, AStoreThatDoesntCompareIsNoticed) {
  EXPECT_NE(Notices(Broken::kPutsWithoutComparing), "");
}

TEST(KeyedRecordSeeds, AStoreThatForgetsIsNoticed) { EXPECT_NE(Notices(Broken::kForgetsPuts), ""); }

}  // namespace
}  // namespace phalanx::control::simulation
