#include "simulate/rate.h"

#include <gtest/gtest.h>

namespace phalanx::simulate {
namespace {

TEST(Rate, IntervalsAreWilsons) {
  const Interval half = ConfidenceOf({5, 10});
  EXPECT_NEAR(half.low, 0.2366, 1e-4);
  EXPECT_NEAR(half.high, 0.7634, 1e-4);
  const Interval published = ConfidenceOf({360, 3200});
  EXPECT_NEAR(published.low, 0.1020, 1e-4);
  EXPECT_NEAR(published.high, 0.1239, 1e-4);
}

TEST(Rate, IntervalsReachTheEndsOnlyThere) {
  const Interval none = ConfidenceOf({0, 10});
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.2775, 1e-4);
  const Interval all = ConfidenceOf({10, 10});
  EXPECT_NEAR(all.low, 0.7225, 1e-4);
  EXPECT_EQ(all.high, 1);
}

TEST(Rate, NothingIsKnownWithoutRounds) {
  EXPECT_EQ((Rate{0, 0}.value()), 0);
  EXPECT_EQ(ConfidenceOf({0, 0}).low, 0);
  EXPECT_EQ(ConfidenceOf({0, 0}).high, 1);
}

TEST(Rate, IntervalsOverlap) {
  EXPECT_TRUE((Interval{0.1, 0.3}).Overlaps({0.3, 0.4}));
  EXPECT_FALSE((Interval{0.1, 0.3}).Overlaps({0.31, 0.4}));
  EXPECT_TRUE((Interval{0.1, 0.3}).Holds(0.1));
  EXPECT_FALSE((Interval{0.1, 0.3}).Holds(0.35));
}

}  // namespace
}  // namespace phalanx::simulate
