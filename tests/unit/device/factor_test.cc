#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "device/reduce.h"

namespace phalanx::device {
namespace {

uint64_t BitsOf(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t BitsOf(double value) { return std::bit_cast<uint64_t>(value); }

constexpr DataType kNarrowFloats[] = {DataType::kFloat16, DataType::kFloat32, DataType::kBfloat16,
                                      DataType::kFloat8E4m3, DataType::kFloat8E5m2};

TEST(Factor, IsOneForPlainReductions) {
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_TRUE(Factor::Of(op, DataType::kFloat32, 4).is_one());
    EXPECT_TRUE(Factor::Of(op, DataType::kInt32, 4).is_one());
  }
}

TEST(Factor, OfAFloatAverageIsTheReciprocalInTheTypeItIsAppliedIn) {
  for (const DataType type : kNarrowFloats) {
    const Factor factor = Factor::Of(ReduceOp::kAverage, type, 3);
    EXPECT_FALSE(factor.is_one());
    EXPECT_EQ(factor.bits(), BitsOf(1.0f / 3.0f)) << NameOf(type);
  }
  EXPECT_EQ(Factor::Of(ReduceOp::kAverage, DataType::kFloat64, 3).bits(), BitsOf(1.0 / 3.0));
}

TEST(Factor, OfAnIntegerAverageIsOne) {
  EXPECT_TRUE(Factor::Of(ReduceOp::kAverage, DataType::kInt8, 3).is_one());
  EXPECT_TRUE(Factor::Of(ReduceOp::kAverage, DataType::kUint64, 3).is_one());
}

TEST(Factor, OfAPreMultipliedSumIsTheCallersRoundedOnce) {
  const Reduction tenth = Reduction::PreMultipliedSum(0.1);
  EXPECT_EQ(Factor::Of(tenth, DataType::kFloat64, 2).bits(), BitsOf(0.1));
  EXPECT_EQ(Factor::Of(tenth, DataType::kFloat32, 2).bits(), BitsOf(0.1f));
  EXPECT_EQ(Factor::Of(tenth, DataType::kFloat16, 2).bits(), BitsOf(0.1f));
  // Rounded to double first, 2^60 + 2^36 + 1 would tie, and go down.
  const int64_t large = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(Factor::Of(Reduction::PreMultipliedSum(large), DataType::kFloat32, 2).bits(),
            BitsOf(0x1.000002p60f));
}

TEST(Factor, OfAnIntegerTypeWrapsIntegersAndLimitsOthers) {
  EXPECT_EQ(
      static_cast<uint8_t>(Factor::Of(Reduction::PreMultipliedSum(-3), DataType::kInt8, 2).bits()),
      0xfd);
  EXPECT_EQ(static_cast<uint8_t>(
                Factor::Of(Reduction::PreMultipliedSum(259), DataType::kUint8, 2).bits()),
            3);
  const auto bits = [](double factor, DataType type) {
    return Factor::Of(Reduction::PreMultipliedSum(factor), type, 2).bits();
  };
  EXPECT_EQ(bits(2.9, DataType::kInt32), 2u);
  EXPECT_EQ(static_cast<int32_t>(bits(-2.9, DataType::kInt32)), -2);
  EXPECT_EQ(bits(-1.5, DataType::kUint32), 0u);
  EXPECT_EQ(bits(1e300, DataType::kInt64),
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(bits(1e300, DataType::kUint64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(static_cast<int8_t>(bits(-1e300, DataType::kInt8)), -128);
  EXPECT_EQ(bits(std::numeric_limits<double>::quiet_NaN(), DataType::kInt32), 0u);
}

TEST(Factor, TravelsAsItsBits) {
  const Factor factor = Factor::FromBits(BitsOf(0.25f));
  EXPECT_FALSE(factor.is_one());
  EXPECT_EQ(factor.bits(), BitsOf(0.25f));
}

}  // namespace
}  // namespace phalanx::device
