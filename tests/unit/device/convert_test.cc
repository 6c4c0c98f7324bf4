#include "device/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace phalanx::device {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A format, described by its conversions and by the arithmetic meaning of its patterns.
struct Format {
  std::string name;
  std::function<float(uint32_t)> widen;
  std::function<uint32_t(float)> narrow;
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  bool saturates;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint32_t sign() const { return 1u << (bits() - 1); }

  // From the definition of the format, in doubles; NaN where the pattern is one.
  double Meaning(uint32_t pattern) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int top = (1 << exponent_bits) - 1;
    const uint32_t mantissa_mask = (1u << mantissa_bits) - 1;
    const int exponent = static_cast<int>((pattern & ~sign()) >> mantissa_bits);
    const uint32_t mantissa = pattern & mantissa_mask;
    const double sign_factor = (pattern & sign()) != 0 ? -1.0 : 1.0;
    if (exponent == top && has_infinity) {
      return mantissa != 0 ? std::nan("") : sign_factor * static_cast<double>(kInfinity);
    }
    if (exponent == top && mantissa == mantissa_mask) return std::nan("");
    if (exponent == 0) return sign_factor * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign_factor *
           std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
  }
};

std::vector<Format> Formats() {
  return {
      {"float16", [](uint32_t b) { return Float16ToFloat(static_cast<uint16_t>(b)); },
       FloatToFloat16, 5, 10, true, false},
      {"bfloat16", [](uint32_t b) { return Bfloat16ToFloat(static_cast<uint16_t>(b)); },
       FloatToBfloat16, 8, 7, true, false},
      {"e4m3", [](uint32_t b) { return Float8E4m3ToFloat(static_cast<uint8_t>(b)); },
       FloatToFloat8E4m3, 4, 3, false, true},
      {"e5m2", [](uint32_t b) { return Float8E5m2ToFloat(static_cast<uint8_t>(b)); },
       FloatToFloat8E5m2, 5, 2, true, true},
  };
}

class ConvertTest : public testing::TestWithParam<Format> {
 protected:
  // The finite magnitudes in rising order; the index is the pattern.
  std::vector<double> Magnitudes() const {
    std::vector<double> magnitudes;
    for (uint32_t pattern = 0; pattern < GetParam().sign(); ++pattern) {
      const double value = GetParam().Meaning(pattern);
      if (!std::isfinite(value)) break;
      magnitudes.push_back(value);
    }
    return magnitudes;
  }

  // The nearest pattern, found in the list of all values; a tie goes to the even pattern.
  uint32_t Nearest(const std::vector<double>& magnitudes, float value) const {
    const uint32_t sign = std::signbit(value) ? GetParam().sign() : 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto above = std::lower_bound(magnitudes.begin(), magnitudes.end(), magnitude);
    const auto index = static_cast<uint32_t>(above - magnitudes.begin());
    if (index < magnitudes.size()) {
      if (*above == magnitude) return sign | index;
      const double to_above = *above - magnitude;
      const double to_below = magnitude - magnitudes[index - 1];
      if (to_above != to_below) return sign | (to_above < to_below ? index : index - 1);
      return sign | (index % 2 == 0 ? index : index - 1);
    }
    const uint32_t largest = index - 1;
    if (GetParam().saturates) return sign | largest;
    const double step = magnitudes[largest] - magnitudes[largest - 1];
    return sign | (magnitude < magnitudes[largest] + step / 2 ? largest : largest + 1);
  }
};

TEST_P(ConvertTest, WidensEveryPatternToItsMeaning) {
  const Format& format = GetParam();
  for (uint32_t pattern = 0; pattern < 2 * format.sign(); ++pattern) {
    const float value = format.widen(pattern);
    const double expected = format.Meaning(pattern);
    ASSERT_EQ(std::signbit(value), (pattern & format.sign()) != 0) << pattern;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << pattern;
    }
  }
}

TEST_P(ConvertTest, EveryPatternComesBackButForSaturatedInfinities) {
  const Format& format = GetParam();
  for (uint32_t pattern = 0; pattern < 2 * format.sign(); ++pattern) {
    const float value = format.widen(pattern);
    const uint32_t expected = std::isinf(value) && format.saturates ? pattern - 1 : pattern;
    ASSERT_EQ(format.narrow(value), expected) << pattern;
  }
}

TEST_P(ConvertTest, RoundsAtEveryBoundaryToTheNearestAndTiesToEven) {
  const std::vector<double> magnitudes = Magnitudes();
  for (size_t i = 0; i + 1 < magnitudes.size(); ++i) {
    const float middle = static_cast<float>((magnitudes[i] + magnitudes[i + 1]) / 2);
    for (const float near :
         {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, kInfinity)}) {
      for (const float value : {near, -near}) {
        ASSERT_EQ(GetParam().narrow(value), Nearest(magnitudes, value)) << value;
      }
    }
  }
}

TEST_P(ConvertTest, RoundsAboveTheLargestValue) {
  const std::vector<double> magnitudes = Magnitudes();
  const double largest = magnitudes.back();
  const double step = largest - magnitudes[magnitudes.size() - 2];
  const float middle = static_cast<float>(largest + step / 2);
  for (const float magnitude :
       {std::nextafter(static_cast<float>(largest), kInfinity), std::nextafter(middle, 0.0f),
        middle, std::nextafter(middle, kInfinity), std::numeric_limits<float>::max(), kInfinity}) {
    for (const float value : {magnitude, -magnitude}) {
      ASSERT_EQ(GetParam().narrow(value), Nearest(magnitudes, value)) << value;
    }
  }
}

TEST_P(ConvertTest, RoundsRandomFloatsToTheNearest) {
  const char* const replay = std::getenv("PHALANX_TEST_SEED");
  const auto seed =
      static_cast<uint32_t>(replay != nullptr ? std::stoul(replay) : std::random_device{}());
  std::cout << "PHALANX_TEST_SEED=" << seed << "\n";
  std::mt19937 random(seed);
  const std::vector<double> magnitudes = Magnitudes();
  for (int i = 0; i < 300'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(GetParam().narrow(value), Nearest(magnitudes, value)) << std::hexfloat << value;
  }
}

TEST_P(ConvertTest, KeepsEveryNanANan) {
  const Format& format = GetParam();
  for (const uint32_t payload :
       {1u, 0x1000u, 0x1fffu, 0x200000u, 0x3fffffu, 0x400000u, 0x7fffffu}) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const uint32_t pattern = format.narrow(std::bit_cast<float>(sign | 0x7f800000u | payload));
      EXPECT_TRUE(std::isnan(format.Meaning(pattern))) << std::hex << payload;
      EXPECT_EQ((pattern & format.sign()) != 0, sign != 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ConvertTest, testing::ValuesIn(Formats()),
                         [](const auto& format) { return format.param.name; });

TEST(ConvertValues, AreThoseOfTheStandards) {
  EXPECT_EQ(Float16ToFloat(0x3c00), 1.0f);
  EXPECT_EQ(Float16ToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(Bfloat16ToFloat(0x3f80), 1.0f);
  EXPECT_EQ(Float8E4m3ToFloat(0x7e), 448.0f);
  EXPECT_EQ(Float8E5m2ToFloat(0x7b), 57344.0f);
  EXPECT_EQ(FloatToFloat8E4m3(1e9f), 0x7e);
  EXPECT_EQ(FloatToFloat8E5m2(-kInfinity), 0xfb);
  EXPECT_EQ(FloatToFloat16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToFloat16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
}

}  // namespace
}  // namespace phalanx::device
