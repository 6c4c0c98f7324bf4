#include "device/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include "scalar_reference.h"

namespace phalanx::device {
namespace {

constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000};

using TypeAndOp = std::tuple<DataType, ReduceOp>;

class ReduceTest : public testing::TestWithParam<TypeAndOp> {
 protected:
  DataType type() const { return std::get<0>(GetParam()); }
  ReduceOp op() const { return std::get<1>(GetParam()); }
  size_t size() const { return SizeOf(type()); }

  std::vector<Bytes> RandomSources(size_t source_count, size_t count) {
    std::vector<Bytes> sources;
    for (size_t s = 0; s < source_count; ++s) {
      sources.push_back(RandomElements(type(), count, random_));
    }
    return sources;
  }

  std::vector<Factor> RandomFactors(size_t source_count) {
    std::vector<Factor> factors;
    for (size_t s = 0; s < source_count; ++s) factors.push_back(SmallFactor(type(), random_));
    return factors;
  }

  static std::vector<const void*> Pointers(const std::vector<Bytes>& sources) {
    std::vector<const void*> pointers;
    for (const Bytes& source : sources) pointers.push_back(source.data());
    return pointers;
  }

  std::mt19937 random_{TestSeed()};
};

TEST_P(ReduceTest, ReducesTwoAtEveryCount) {
  for (const size_t count : kCounts) {
    const std::vector<Bytes> sources = RandomSources(2, count);
    Bytes result(count * size());
    Reduce(type(), op(), sources[0].data(), sources[1].data(), result.data(), count);
    // Reduce adds for an average; it doesn't divide.
    const ReduceOp adding = op() == ReduceOp::kAverage ? ReduceOp::kSum : op();
    ASSERT_EQ(result, ReferenceReduceMany(type(), adding, sources, {})) << count;
  }
}

TEST_P(ReduceTest, ReducesManyAtEveryCountWithAndWithoutFactors) {
  for (size_t source_count = 1; source_count <= 9; ++source_count) {
    for (const size_t count : kCounts) {
      const std::vector<Bytes> sources = RandomSources(source_count, count);
      const std::vector<Factor> factors = RandomFactors(source_count);
      Bytes result(count * size());
      ReduceMany(type(), op(), Pointers(sources), {}, result.data(), count);
      ASSERT_EQ(result, ReferenceReduceMany(type(), op(), sources, {}))
          << source_count << " sources of " << count;
      ReduceMany(type(), op(), Pointers(sources), factors, result.data(), count);
      ASSERT_EQ(result, ReferenceReduceMany(type(), op(), sources, factors))
          << source_count << " sources of " << count << " with factors";
    }
  }
}

TEST_P(ReduceTest, LeavesSourcesWithoutFactorUnmultiplied) {
  const std::vector<Bytes> sources = RandomSources(3, 100);
  std::vector<Factor> factors = RandomFactors(3);
  factors[1] = Factor();
  Bytes result(100 * size());
  ReduceMany(type(), op(), Pointers(sources), factors, result.data(), 100);
  EXPECT_EQ(result, ReferenceReduceMany(type(), op(), sources, factors));
}

TEST_P(ReduceTest, MayWriteOverAnySource) {
  constexpr size_t kCount = 333;
  for (const size_t source_count : {1, 2, 3, 4, 5, 8, 9}) {
    const std::vector<Factor> factors = RandomFactors(source_count);
    for (size_t target = 0; target < source_count; ++target) {
      for (const bool scales : {false, true}) {
        std::vector<Bytes> sources = RandomSources(source_count, kCount);
        const std::vector<Factor> used = scales ? factors : std::vector<Factor>();
        const Bytes expected = ReferenceReduceMany(type(), op(), sources, used);
        ReduceMany(type(), op(), Pointers(sources), used, sources[target].data(), kCount);
        ASSERT_EQ(sources[target], expected) << source_count << " into " << target;
      }
    }
  }
}

TEST_P(ReduceTest, TakesTheSameSourceTwice) {
  constexpr size_t kCount = 77;
  Bytes source = RandomElements(type(), kCount, random_);
  const Bytes expected = ReferenceReduceMany(type(), op(), {source, source, source}, {});
  const void* const pointers[] = {source.data(), source.data(), source.data()};
  ReduceMany(type(), op(), pointers, {}, source.data(), kCount);
  EXPECT_EQ(source, expected);
}

TEST_P(ReduceTest, TakesUnalignedPointersAndWritesNothingElse) {
  for (const size_t count : {1, 5, 16, 65, 300}) {
    for (size_t offset = 0; offset < 9; ++offset) {
      const std::vector<Bytes> sources = RandomSources(3, count);
      std::vector<Bytes> moved;
      std::vector<const void*> pointers;
      for (size_t s = 0; s < sources.size(); ++s) {
        moved.emplace_back(sources[s].size() + 64);
        pointers.push_back(moved[s].data() + offset * (s + 1));
        std::memcpy(moved[s].data() + offset * (s + 1), sources[s].data(), sources[s].size());
      }
      Bytes result(count * size() + 64, 0xa5);
      Bytes expected = result;
      const Bytes values = ReferenceReduceMany(type(), op(), sources, {});
      std::memcpy(expected.data() + offset, values.data(), values.size());
      ReduceMany(type(), op(), pointers, {}, result.data() + offset, count);
      ASSERT_EQ(result, expected) << count << " elements at " << offset;
    }
  }
}

TEST_P(ReduceTest, GivesTheSameBitsHoweverTheRangeIsCut) {
  constexpr size_t kCount = 1000;
  const std::vector<Bytes> sources = RandomSources(4, kCount);
  const std::vector<Factor> factors = RandomFactors(4);
  Bytes whole(kCount * size());
  ReduceMany(type(), op(), Pointers(sources), factors, whole.data(), kCount);
  Bytes cut(kCount * size());
  for (size_t begin = 0; begin < kCount;) {
    const size_t count = std::min<size_t>(1 + random_() % 90, kCount - begin);
    std::vector<const void*> pointers;
    for (const Bytes& source : sources) pointers.push_back(source.data() + begin * size());
    ReduceMany(type(), op(), pointers, factors, cut.data() + begin * size(), count);
    begin += count;
  }
  EXPECT_EQ(cut, whole);
}

std::string NameOfTypeAndOp(const testing::TestParamInfo<TypeAndOp>& info) {
  return std::string(NameOf(std::get<0>(info.param))) + "_" + NameOf(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(All, ReduceTest,
                         testing::Combine(testing::ValuesIn(kAllTypes), testing::ValuesIn(kAllOps)),
                         NameOfTypeAndOp);

template <typename T>
T Pair(DataType type, ReduceOp op, T a, T b) {
  T result;
  Reduce(type, op, &a, &b, &result, 1);
  return result;
}

TEST(ReduceValues, MinimumAndMaximumOrderZerosAndPassNans) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr auto kType = DataType::kFloat32;
  EXPECT_FALSE(std::signbit(Pair(kType, ReduceOp::kMax, -0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(Pair(kType, ReduceOp::kMax, 0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(Pair(kType, ReduceOp::kMin, -0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(Pair(kType, ReduceOp::kMin, 0.0f, -0.0f)));
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_TRUE(std::isnan(Pair(kType, op, kNan, 1.0f)));
    EXPECT_TRUE(std::isnan(Pair(kType, op, 1.0f, kNan)));
    EXPECT_TRUE(std::isnan(Pair(DataType::kFloat64, op, -1.0, -std::nan(""))));
  }
}

TEST(ReduceValues, ANanResultIsAlwaysTheSameOne) {
  const auto negative = std::bit_cast<float>(0xffc01234u);
  const auto positive = std::bit_cast<float>(0x7fc04321u);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(Pair(DataType::kFloat32, op, negative, positive)),
              0x7fc00000u);
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(
      std::bit_cast<uint32_t>(Pair(DataType::kFloat32, ReduceOp::kSum, kInfinity, -kInfinity)),
      0x7fc00000u);
}

TEST(ReduceValues, IntegersWrap) {
  EXPECT_EQ(Pair<int8_t>(DataType::kInt8, ReduceOp::kSum, 127, 1), -128);
  EXPECT_EQ(Pair<int32_t>(DataType::kInt32, ReduceOp::kSum, 0x7fffffff, 1), INT32_MIN);
  EXPECT_EQ(Pair<int64_t>(DataType::kInt64, ReduceOp::kProduct, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(Pair<uint8_t>(DataType::kUint8, ReduceOp::kProduct, 16, 17), 16);
}

TEST(ReduceValues, Float8Saturates) {
  EXPECT_EQ(Pair<uint8_t>(DataType::kFloat8E4m3, ReduceOp::kSum, 0x7e, 0x7e), 0x7e);
  EXPECT_EQ(Pair<uint8_t>(DataType::kFloat8E5m2, ReduceOp::kSum, 0xfb, 0xfb), 0xfb);
  EXPECT_EQ(Pair<uint8_t>(DataType::kFloat8E5m2, ReduceOp::kMax, 0x7c, 0x01), 0x7b);
}

TEST(ReduceValues, NarrowTypesRoundOnceForAllSources) {
  // 2048 + 1 + 1: rounding after each addition would stay at 2048.
  const uint16_t large = 0x6800, one = 0x3c00;
  const void* const sources[] = {&large, &one, &one};
  uint16_t result;
  ReduceMany(DataType::kFloat16, ReduceOp::kSum, sources, {}, &result, 1);
  EXPECT_EQ(result, 0x6801);
}

TEST(ReduceValues, ProductsAreRoundedBeforeTheyAreAdded) {
  // x·x - round(x·x) is 0 unless the multiplication is fused into the addition.
  const float x = 1.0f + 0x1p-12f;
  const float square = x * x;
  const void* const sources[] = {&square, &x};
  const Factor factors[] = {Factor::FromBits(std::bit_cast<uint32_t>(-1.0f)),
                            Factor::FromBits(std::bit_cast<uint32_t>(x))};
  float result;
  ReduceMany(DataType::kFloat32, ReduceOp::kPreMultipliedSum, sources, factors, &result, 1);
  EXPECT_EQ(result, 0.0f);
}

TEST(ReduceValues, ScaleMultipliesInPlaceAndKeepsTheFactorsSign) {
  float values[] = {1.0f, -2.0f, 0.5f};
  Scale(DataType::kFloat32, values, Factor::Of(ReduceOp::kAverage, DataType::kFloat32, 4), values,
        3);
  EXPECT_EQ(values[0], 0.25f);
  EXPECT_EQ(values[1], -0.5f);
  EXPECT_EQ(values[2], 0.125f);
  Scale(DataType::kFloat32, values, Factor::FromBits(std::bit_cast<uint32_t>(-0.0f)), values, 1);
  EXPECT_TRUE(std::signbit(values[0]));
}

TEST(ReduceValues, DivideTruncatesTowardsZero) {
  int8_t narrow[] = {-128, -7, 7, 127};
  Divide(DataType::kInt8, narrow, 2, 4);
  EXPECT_EQ(narrow[0], -64);
  EXPECT_EQ(narrow[1], -3);
  EXPECT_EQ(narrow[2], 3);
  EXPECT_EQ(narrow[3], 63);
  Divide(DataType::kInt8, narrow, 1000, 4);
  EXPECT_EQ(narrow[0], 0);
  uint64_t wide = std::numeric_limits<uint64_t>::max();
  Divide(DataType::kUint64, &wide, 2, 1);
  EXPECT_EQ(wide, std::numeric_limits<uint64_t>::max() / 2);
  uint32_t middle = std::numeric_limits<uint32_t>::max();
  Divide(DataType::kUint32, &middle, 3, 1);
  EXPECT_EQ(middle, std::numeric_limits<uint32_t>::max() / 3);
}

}  // namespace
}  // namespace phalanx::device
