#include <bit>
#include <cmath>
#include <limits>

#include "device/reduce.h"

namespace phalanx::device {
namespace {

// Truncates towards zero; what doesn't fit goes to the nearest end, NaN to 0.
template <typename Integer>
uint64_t IntegerBits(double factor) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(factor)) return 0;
  // The upper end of the 64-bit types rounds up as a double, so it is itself out of range.
  if (factor >= static_cast<double>(Limits::max())) return static_cast<uint64_t>(Limits::max());
  if (factor <= static_cast<double>(Limits::min())) return static_cast<uint64_t>(Limits::min());
  return static_cast<uint64_t>(static_cast<Integer>(factor));
}

uint64_t RealBits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t RealBits(float value) { return std::bit_cast<uint32_t>(value); }

template <typename Real>
uint64_t RealFactorBits(const Reduction& reduction, int size) {
  if (reduction.op() == ReduceOp::kAverage) return RealBits(Real{1} / static_cast<Real>(size));
  return RealBits(reduction.factor_is_integer() ? static_cast<Real>(reduction.integer_factor())
                                                : static_cast<Real>(reduction.factor()));
}

template <typename Integer>
uint64_t IntegerFactorBits(const Reduction& reduction) {
  return reduction.factor_is_integer() ? static_cast<uint64_t>(reduction.integer_factor())
                                       : IntegerBits<Integer>(reduction.factor());
}

uint64_t FactorBits(const Reduction& reduction, DataType type, int size) {
  switch (type) {
    case DataType::kInt8:
      return IntegerFactorBits<int8_t>(reduction);
    case DataType::kUint8:
      return IntegerFactorBits<uint8_t>(reduction);
    case DataType::kInt32:
      return IntegerFactorBits<int32_t>(reduction);
    case DataType::kUint32:
      return IntegerFactorBits<uint32_t>(reduction);
    case DataType::kInt64:
      return IntegerFactorBits<int64_t>(reduction);
    case DataType::kUint64:
      return IntegerFactorBits<uint64_t>(reduction);
    case DataType::kFloat64:
      return RealFactorBits<double>(reduction, size);
    case DataType::kFloat16:
    case DataType::kFloat32:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return RealFactorBits<float>(reduction, size);
  }
  return 0;
}

}  // namespace

Factor Factor::Of(const Reduction& reduction, DataType type, int size) {
  const bool averages = reduction.op() == ReduceOp::kAverage && !IsInteger(type);
  if (!averages && reduction.op() != ReduceOp::kPreMultipliedSum) return Factor();
  return FromBits(FactorBits(reduction, type, size));
}

Factor Factor::FromBits(uint64_t bits) {
  Factor factor;
  factor.bits_ = bits;
  factor.applies_ = true;
  return factor;
}

}  // namespace phalanx::device
