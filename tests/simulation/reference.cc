#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace phalanx::simulation {
namespace {

struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
};

FloatFormat FormatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10};
    case DataType::kFloat32:
      return {8, 23};
    case DataType::kFloat64:
      return {11, 52};
    case DataType::kBfloat16:
      return {8, 7};
    case DataType::kFloat8E4m3:
      return {4, 3};
    case DataType::kFloat8E5m2:
      return {5, 2};
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
      break;
  }
  return {};
}

int BiasOf(FloatFormat format) { return (1 << (format.exponent_bits - 1)) - 1; }

bool IsSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

// To the type's width: sign or zero extended to 64 bits.
uint64_t Wrap(DataType type, uint64_t value) {
  const int unused = 64 - 8 * static_cast<int>(SizeOf(type));
  if (IsSigned(type)) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }
  return value << unused >> unused;
}

bool Less(DataType type, uint64_t a, uint64_t b) {
  return IsSigned(type) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
}

uint64_t DivideWrapped(DataType type, uint64_t value, int divisor) {
  if (IsSigned(type)) return static_cast<uint64_t>(static_cast<int64_t>(value) / divisor);
  return value / static_cast<uint64_t>(divisor);
}

uint64_t ReduceIntegers(DataType type, ReduceOp op, const std::vector<uint64_t>& values) {
  uint64_t result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kAverage:
      case ReduceOp::kPreMultipliedSum:
        result = Wrap(type, result + values[i]);
        break;
      case ReduceOp::kProduct:
        result = Wrap(type, result * values[i]);
        break;
      case ReduceOp::kMax:
        result = Less(type, result, values[i]) ? values[i] : result;
        break;
      case ReduceOp::kMin:
        result = Less(type, values[i], result) ? values[i] : result;
        break;
    }
  }
  if (op == ReduceOp::kAverage) {
    result = DivideWrapped(type, result, static_cast<int>(values.size()));
  }
  return result;
}

struct Approximation {
  double value = 0;
  double magnitude = 0;  // of the largest intermediate result
};

Approximation ReduceFloats(ReduceOp op, const std::vector<double>& values) {
  Approximation result{values[0], std::fabs(values[0])};
  for (size_t i = 1; i < values.size(); ++i) {
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kAverage:
      case ReduceOp::kPreMultipliedSum:
        result.value += values[i];
        result.magnitude += std::fabs(values[i]);
        break;
      case ReduceOp::kProduct:
        result.value *= values[i];
        result.magnitude = std::max(result.magnitude, std::fabs(result.value));
        break;
      case ReduceOp::kMax:
        result.value = std::max(result.value, values[i]);
        break;
      case ReduceOp::kMin:
        result.value = std::min(result.value, values[i]);
        break;
    }
  }
  return result;
}

bool Near(DataType type, ReduceOp op, size_t ranks, const Approximation& wanted, double got) {
  if (op == ReduceOp::kMax || op == ReduceOp::kMin) return got == wanted.value;
  const FloatFormat format = FormatOf(type);
  const double relative = std::ldexp(1.0, -format.mantissa_bits);
  const double smallest = std::ldexp(1.0, 1 - BiasOf(format) - format.mantissa_bits);
  const double roundings = static_cast<double>(ranks) + 2;
  return std::fabs(got - wanted.value) <= roundings * (relative * wanted.magnitude + smallest);
}

}  // namespace

double DecodeFloat(DataType type, uint64_t bits) {
  const FloatFormat format = FormatOf(type);
  const uint64_t mantissa = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent_mask = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (format.mantissa_bits + format.exponent_bits) & 1) != 0;
  const bool all_ones = exponent == exponent_mask;
  double value = 0;
  if (type == DataType::kFloat8E4m3 && all_ones && mantissa == 7) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (type != DataType::kFloat8E4m3 && all_ones) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    const double fraction = static_cast<double>(mantissa) +
                            (exponent == 0 ? 0.0 : std::ldexp(1.0, format.mantissa_bits));
    value = std::ldexp(fraction, std::max(exponent, 1) - BiasOf(format) - format.mantissa_bits);
  }
  return negative ? -value : value;
}

uint64_t EncodeFloat(DataType type, double value) {
  const FloatFormat format = FormatOf(type);
  const uint64_t sign = std::signbit(value) ? 1 : 0;
  uint64_t magnitude = 0;
  if (value != 0) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
    const double scaled = std::ldexp(fraction, format.mantissa_bits + 1);
    const auto mantissa = static_cast<uint64_t>(scaled) - (uint64_t{1} << format.mantissa_bits);
    const auto biased = static_cast<uint64_t>(exponent - 1 + BiasOf(format));
    magnitude = (biased << format.mantissa_bits) | mantissa;
  }
  return (sign << (format.mantissa_bits + format.exponent_bits)) | magnitude;
}

uint64_t LoadBits(DataType type, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, SizeOf(type));  // little endian, as all machines it runs on
  return bits;
}

void StoreBits(DataType type, uint64_t bits, std::byte* element) {
  std::memcpy(element, &bits, SizeOf(type));
}

Bytes RandomElements(DataType type, ReduceOp op, int rank, size_t count, std::mt19937_64* random) {
  Bytes bytes(count * SizeOf(type));
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = (*random)();
    if (!IsInteger(type)) {
      double value = static_cast<double>(bits % 17) / 4 - 2;
      if (op == ReduceOp::kProduct) {
        value = bits % 2 == 0 ? 1.0 : -1.0;
        if (rank < 4 && bits % 5 == 0) value *= bits % 3 == 0 ? 2.0 : 0.5;
      }
      bits = EncodeFloat(type, value);
    }
    StoreBits(type, bits, bytes.data() + i * SizeOf(type));
  }
  return bytes;
}

std::string CheckReduction(DataType type, ReduceOp op, const std::vector<const std::byte*>& inputs,
                           const std::vector<double>& factors, const std::byte* result,
                           size_t count) {
  const size_t ranks = inputs.size();
  std::vector<uint64_t> integers(ranks);
  std::vector<double> floats(ranks);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * SizeOf(type);
    const uint64_t bits = LoadBits(type, result + at);
    if (IsInteger(type)) {
      for (size_t r = 0; r < ranks; ++r) {
        integers[r] = Wrap(type, LoadBits(type, inputs[r] + at));
        if (op != ReduceOp::kPreMultipliedSum) continue;
        const auto factor = static_cast<uint64_t>(static_cast<int64_t>(factors[r]));
        integers[r] = Wrap(type, integers[r] * factor);
      }
      const uint64_t wanted = ReduceIntegers(type, op, integers);
      if (Wrap(type, bits) == wanted) continue;
      return "element " + std::to_string(i) + " is " +
             std::to_string(static_cast<int64_t>(Wrap(type, bits))) + " instead of " +
             std::to_string(static_cast<int64_t>(wanted));
    }
    for (size_t r = 0; r < ranks; ++r) {
      floats[r] = DecodeFloat(type, LoadBits(type, inputs[r] + at));
      if (op == ReduceOp::kAverage) floats[r] /= static_cast<double>(ranks);
      if (op == ReduceOp::kPreMultipliedSum) floats[r] *= factors[r];
    }
    const Approximation wanted = ReduceFloats(op, floats);
    const double got = DecodeFloat(type, bits);
    if (Near(type, op, ranks, wanted, got)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(got) + " instead of " +
           std::to_string(wanted.value);
  }
  return std::string();
}

}  // namespace phalanx::simulation
