#include "elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace phalanx::stress {
namespace {

// A binary floating-point format narrower than float32, by its fields.
struct Format {
  int mantissa_bits;
  int bias;
};

// `value` is zero or a normal number of the format that it holds exactly, or is rounded down.
uint32_t Encode(const Format& format, double value) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const double fraction = std::ldexp(std::fabs(value), -exponent) - 1.0;
  return (static_cast<uint32_t>(exponent + format.bias) << format.mantissa_bits) |
         static_cast<uint32_t>(std::ldexp(fraction, format.mantissa_bits));
}

double Decode(const Format& format, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa_bits);
  if (exponent == 0) return std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
  return std::ldexp(1.0 + std::ldexp(mantissa, -format.mantissa_bits), exponent - format.bias);
}

constexpr Format kFloat16Format{10, 15};
constexpr Format kBfloat16Format{7, 127};
constexpr Format kE4m3Format{3, 7};
constexpr Format kE5m2Format{2, 15};

template <typename T>
void StoreAs(void* buffer, size_t index, T value) {
  std::memcpy(static_cast<char*>(buffer) + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
T LoadAs(const void* buffer, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(buffer) + index * sizeof(T), sizeof(T));
  return value;
}

// Unsigned narrow sums wrap in the collective, so they must in what is expected.
double Wrap(DataType type, double value) {
  switch (type) {
    case DataType::kInt8:
      return static_cast<int8_t>(static_cast<int64_t>(value));
    case DataType::kUint8:
      return static_cast<uint8_t>(static_cast<int64_t>(value));
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kBfloat16:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return value;
  }
  return value;
}

}  // namespace

void Store(DataType type, void* buffer, size_t index, double value) {
  switch (type) {
    case DataType::kInt8:
      return StoreAs(buffer, index, static_cast<int8_t>(value));
    case DataType::kUint8:
      return StoreAs(buffer, index, static_cast<uint8_t>(value));
    case DataType::kInt32:
      return StoreAs(buffer, index, static_cast<int32_t>(value));
    case DataType::kUint32:
      return StoreAs(buffer, index, static_cast<uint32_t>(value));
    case DataType::kInt64:
      return StoreAs(buffer, index, static_cast<int64_t>(value));
    case DataType::kUint64:
      return StoreAs(buffer, index, static_cast<uint64_t>(value));
    case DataType::kFloat32:
      return StoreAs(buffer, index, static_cast<float>(value));
    case DataType::kFloat64:
      return StoreAs(buffer, index, value);
    case DataType::kFloat16:
      return StoreAs(buffer, index, static_cast<uint16_t>(Encode(kFloat16Format, value)));
    case DataType::kBfloat16:
      return StoreAs(buffer, index, static_cast<uint16_t>(Encode(kBfloat16Format, value)));
    case DataType::kFloat8E4m3:
      return StoreAs(buffer, index, static_cast<uint8_t>(Encode(kE4m3Format, value)));
    case DataType::kFloat8E5m2:
      return StoreAs(buffer, index, static_cast<uint8_t>(Encode(kE5m2Format, value)));
  }
}

double Load(DataType type, const void* buffer, size_t index) {
  switch (type) {
    case DataType::kInt8:
      return LoadAs<int8_t>(buffer, index);
    case DataType::kUint8:
      return LoadAs<uint8_t>(buffer, index);
    case DataType::kInt32:
      return LoadAs<int32_t>(buffer, index);
    case DataType::kUint32:
      return LoadAs<uint32_t>(buffer, index);
    case DataType::kInt64:
      return static_cast<double>(LoadAs<int64_t>(buffer, index));
    case DataType::kUint64:
      return static_cast<double>(LoadAs<uint64_t>(buffer, index));
    case DataType::kFloat32:
      return LoadAs<float>(buffer, index);
    case DataType::kFloat64:
      return LoadAs<double>(buffer, index);
    case DataType::kFloat16:
      return Decode(kFloat16Format, LoadAs<uint16_t>(buffer, index));
    case DataType::kBfloat16:
      return Decode(kBfloat16Format, LoadAs<uint16_t>(buffer, index));
    case DataType::kFloat8E4m3:
      return Decode(kE4m3Format, LoadAs<uint8_t>(buffer, index));
    case DataType::kFloat8E5m2:
      return Decode(kE5m2Format, LoadAs<uint8_t>(buffer, index));
  }
  return 0;
}

size_t PatternPeriod(int ranks) { return static_cast<size_t>(ranks) * 13; }

double Pattern(DataType type, ReduceOp op, int rank, int ranks, size_t index) {
  const size_t at = index % PatternPeriod(ranks);
  const auto who = static_cast<size_t>(rank);
  // One factor of 2 somewhere, so that no type's product overflows.
  if (op == ReduceOp::kProduct) return at % static_cast<size_t>(ranks) == who ? 2.0 : 1.0;
  const bool narrow = type == DataType::kFloat8E4m3 || type == DataType::kFloat8E5m2;
  // Sums of at most 4 ones are exact even with 2 bits of mantissa.
  if (narrow) return (at + who) % static_cast<size_t>(std::max(ranks / 4, 1)) == 0 ? 1.0 : 0.0;
  return static_cast<double>((at + 3 * who) % 13);
}

double Expected(DataType type, ReduceOp op, int ranks, size_t index) {
  double result = Pattern(type, op, 0, ranks, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = Pattern(type, op, rank, ranks, index);
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kAverage:
      case ReduceOp::kPreMultipliedSum:
        result += value;
        break;
      case ReduceOp::kProduct:
        result *= value;
        break;
      case ReduceOp::kMax:
        result = std::max(result, value);
        break;
      case ReduceOp::kMin:
        result = std::min(result, value);
        break;
    }
  }
  result = Wrap(type, result);
  if (op != ReduceOp::kAverage) return result;
  return IsInteger(type) ? std::trunc(result / ranks) : result / ranks;
}

bool Matches(DataType type, ReduceOp op, double value, double expected) {
  if (op != ReduceOp::kAverage || IsInteger(type)) return value == expected;
  const double epsilon = SizeOf(type) == 1 ? 0.25 : SizeOf(type) == 2 ? 0.03 : 1e-5;
  return std::fabs(value - expected) <= epsilon * std::max(1.0, std::fabs(expected));
}

}  // namespace phalanx::stress
