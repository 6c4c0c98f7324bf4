// What is sent in the background, over virtual time.
#include "send_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::time_point kStart{std::chrono::hours(1)};

TEST(SendBudgetTest, WithoutALimitEverythingIsFree) {
  SendBudget budget(0);
  EXPECT_FALSE(budget.is_limited());
  budget.Spend(uint64_t{1} << 60, kStart);
  EXPECT_LE(budget.free_at(), kStart);
}

TEST(SendBudgetTest, APieceGoesWhenTheOneBeforeIsPaidFor) {
  SendBudget budget(1000);
  EXPECT_TRUE(budget.is_limited());
  EXPECT_LE(budget.free_at(), kStart);
  budget.Spend(500, kStart);
  EXPECT_EQ(budget.free_at(), kStart + milliseconds(500) - SendBudget::kCatchUp);
  budget.Spend(100, kStart + milliseconds(490));
  EXPECT_EQ(budget.free_at(), kStart + milliseconds(600) - SendBudget::kCatchUp);
}

TEST(SendBudgetTest, WhatWasNotUsedIsGone) {
  SendBudget budget(1000);
  budget.Spend(500, kStart);
  const Clock::time_point later = kStart + seconds(100);
  budget.Spend(500, later);
  EXPECT_EQ(budget.free_at(), later + milliseconds(500) - SendBudget::kCatchUp);
}

TEST(SendBudgetTest, ATimerThatIsLateLosesNothing) {
  SendBudget budget(1'000'000);
  Clock::time_point now = kStart;
  uint64_t sent = 0;
  // Each millisecond's piece is seen a third of a millisecond too late.
  while (now < kStart + seconds(1)) {
    budget.Spend(1000, now);
    sent += 1000;
    now = std::max(now, budget.free_at()) + std::chrono::microseconds(333);
  }
  EXPECT_NEAR(static_cast<double>(sent), 1e6, 25e3);
}

TEST(SendBudgetTest, NoSpanHasMoreThanItsShareAndOnePiece) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const uint64_t rate = 1 + random() % 1'000'000;
    const uint64_t largest = 1 + random() % 100'000;
    SendBudget budget(rate);
    Clock::time_point now = kStart;
    uint64_t sent = 0;
    for (int i = 0; i < 1000; ++i) {
      now = std::max(now, budget.free_at());
      const std::chrono::duration<double> span = now - kStart + SendBudget::kCatchUp;
      ASSERT_LE(static_cast<double>(sent), span.count() * static_cast<double>(rate) + 1)
          << "seed " << seed;
      const uint64_t bytes = 1 + random() % largest;
      budget.Spend(bytes, now);
      sent += bytes;
      if (random() % 4 == 0) now += std::chrono::microseconds(random() % 100'000);
    }
  }
}

TEST(SendBudgetTest, TheSmallestRateAndTheLongestPieceAreTimes) {
  SendBudget budget(1);
  budget.Spend(uint64_t{1} << 63, kStart);
  EXPECT_GT(budget.free_at(), kStart + std::chrono::hours(24 * 365));
  EXPECT_LT(budget.free_at(), Clock::time_point::max());
}

}  // namespace
}  // namespace phalanx::control
