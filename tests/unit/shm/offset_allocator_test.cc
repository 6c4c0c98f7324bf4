#include "offset_allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <random>

namespace phalanx::shm {
namespace {

constexpr uint64_t kGranule = OffsetAllocator::kGranule;

TEST(OffsetAllocator, GivesTheLowestFit) {
  OffsetAllocator offsets(kGranule, 11 * kGranule);
  EXPECT_EQ(offsets.Allocate(1), kGranule);
  EXPECT_EQ(offsets.Allocate(2 * kGranule), 2 * kGranule);
  EXPECT_EQ(offsets.Allocate(kGranule + 1), 4 * kGranule);
  EXPECT_EQ(offsets.used(), 5 * kGranule);
  offsets.Free(2 * kGranule);
  EXPECT_EQ(offsets.Allocate(3 * kGranule), 6 * kGranule);  // the gap is too small
  EXPECT_EQ(offsets.Allocate(0), 2 * kGranule);             // an address of its own all the same
  EXPECT_EQ(offsets.Allocate(1), 3 * kGranule);
}

TEST(OffsetAllocator, RefusesWhatDoesNotFit) {
  OffsetAllocator offsets(0, 4 * kGranule);
  EXPECT_FALSE(offsets.Allocate(4 * kGranule + 1).has_value());
  EXPECT_FALSE(offsets.Allocate(UINT64_MAX).has_value());
  EXPECT_FALSE(offsets.Allocate(UINT64_MAX - kGranule).has_value());
  EXPECT_EQ(offsets.Allocate(4 * kGranule), 0u);
  EXPECT_FALSE(offsets.Allocate(1).has_value());
  offsets.Free(0);
  EXPECT_EQ(offsets.used(), 0u);
  EXPECT_FALSE(OffsetAllocator(0, 0).Allocate(1).has_value());
}

TEST(OffsetAllocator, JoinsNeighbours) {
  OffsetAllocator offsets(0, 3 * kGranule);
  for (int order = 0; order < 3; ++order) {
    for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(offsets.Allocate(1), i * kGranule);
    for (uint64_t i = 0; i < 3; ++i) {
      offsets.Free((i * static_cast<uint64_t>(order + 1) + 1) % 3 * kGranule);
      if (order == 2) break;
    }
    if (order == 2) {
      offsets.Free(0);
      offsets.Free(2 * kGranule);
    }
    ASSERT_EQ(offsets.Allocate(3 * kGranule), 0u);
    offsets.Free(0);
  }
}

TEST(OffsetAllocatorDeathTest, FreeingTwiceIsABug) {
  OffsetAllocator offsets(0, kGranule);
  const uint64_t offset = *offsets.Allocate(1);
  offsets.Free(offset);
  EXPECT_DEATH(offsets.Free(offset), "isn't allocated");
}

TEST(OffsetAllocator, RangesNeverOverlap) {
  const char* const given = std::getenv("PHALANX_TEST_SEED");
  const uint32_t seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                         : std::random_device()();
  std::cout << "PHALANX_TEST_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  constexpr uint64_t kEnd = 200 * kGranule;
  OffsetAllocator offsets(0, kEnd);
  std::map<uint64_t, uint64_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto victim =
          std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      offsets.Free(victim->first);
      taken.erase(victim);
      continue;
    }
    const uint64_t bytes = 1 + random() % (20 * kGranule);
    const auto offset = offsets.Allocate(bytes);
    if (!offset) continue;
    ASSERT_LE(*offset + bytes, kEnd);
    const auto next = taken.lower_bound(*offset);
    if (next != taken.end()) {
      ASSERT_LE(*offset + bytes, next->first);
    }
    if (next != taken.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *offset);
    }
    taken.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : taken) offsets.Free(offset);
  EXPECT_EQ(offsets.Allocate(kEnd), 0u);
}

}  // namespace
}  // namespace phalanx::shm
