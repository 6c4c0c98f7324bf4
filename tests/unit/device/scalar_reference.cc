#include "scalar_reference.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <type_traits>

#include "device/convert.h"

namespace phalanx::device {
namespace {

template <typename T>
struct Plain {
  using Storage = T;
  using Wide = T;
  static T Widen(T value) { return value; }
  static T Narrow(T value) { return value; }
};
template <typename S, float (*kWiden)(S), S (*kNarrow)(float)>
struct Narrowed {
  using Storage = S;
  using Wide = float;
  static float Widen(S value) { return kWiden(value); }
  static S Narrow(float value) { return kNarrow(value); }
};

// Calls `visit` with the element class of `type`.
template <typename Visitor>
auto Visit(DataType type, Visitor visit) {
  switch (type) {
    case DataType::kInt8:
      return visit(Plain<int8_t>());
    case DataType::kUint8:
      return visit(Plain<uint8_t>());
    case DataType::kInt32:
      return visit(Plain<int32_t>());
    case DataType::kUint32:
      return visit(Plain<uint32_t>());
    case DataType::kInt64:
      return visit(Plain<int64_t>());
    case DataType::kUint64:
      return visit(Plain<uint64_t>());
    case DataType::kFloat32:
      return visit(Plain<float>());
    case DataType::kFloat64:
      return visit(Plain<double>());
    case DataType::kFloat16:
      return visit(Narrowed<uint16_t, Float16ToFloat, FloatToFloat16>());
    case DataType::kBfloat16:
      return visit(Narrowed<uint16_t, Bfloat16ToFloat, FloatToBfloat16>());
    case DataType::kFloat8E4m3:
      return visit(Narrowed<uint8_t, Float8E4m3ToFloat, FloatToFloat8E4m3>());
    case DataType::kFloat8E5m2:
      break;
  }
  return visit(Narrowed<uint8_t, Float8E5m2ToFloat, FloatToFloat8E5m2>());
}

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if (op == ReduceOp::kProduct) return static_cast<T>(x * y);
    if (op == ReduceOp::kMax) return a > b ? a : b;
    if (op == ReduceOp::kMin) return a < b ? a : b;
    return static_cast<T>(x + y);
  } else {
    if (op == ReduceOp::kProduct) return a * b;
    if (op != ReduceOp::kMax && op != ReduceOp::kMin) return a + b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    const bool a_is_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    return (op == ReduceOp::kMin) == a_is_less ? a : b;
  }
}

template <typename T>
T Multiply(T value, uint64_t factor_bits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(value) * factor_bits);
  } else if constexpr (std::is_same_v<T, float>) {
    return value * std::bit_cast<float>(static_cast<uint32_t>(factor_bits));
  } else {
    return value * std::bit_cast<double>(factor_bits);
  }
}

template <class Element>
typename Element::Wide ElementAt(const Bytes& bytes, size_t index) {
  typename Element::Storage value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return Element::Widen(value);
}

template <class Element>
Bytes ReduceElements(ReduceOp op, const std::vector<Bytes>& sources,
                     const std::vector<Factor>& factors) {
  using Storage = typename Element::Storage;
  using Wide = typename Element::Wide;
  Bytes result(sources[0].size());
  for (size_t i = 0; i < result.size() / sizeof(Storage); ++i) {
    Wide sum{};
    for (size_t s = 0; s < sources.size(); ++s) {
      Wide value = ElementAt<Element>(sources[s], i);
      if (!factors.empty() && !factors[s].is_one()) value = Multiply(value, factors[s].bits());
      sum = s == 0 ? value : Combine(op, sum, value);
    }
    if constexpr (std::is_integral_v<Wide>) {
      if (op == ReduceOp::kAverage) {
        // 128 bits hold every element and every divisor.
        sum = static_cast<Wide>(static_cast<__int128>(sum) / static_cast<int>(sources.size()));
      }
    } else {
      if (std::isnan(sum)) sum = std::numeric_limits<Wide>::quiet_NaN();
    }
    const Storage stored = Element::Narrow(sum);
    std::memcpy(result.data() + i * sizeof stored, &stored, sizeof stored);
  }
  return result;
}

template <class Element>
typename Element::Storage RandomElement(std::mt19937& random) {
  using Storage = typename Element::Storage;
  using Wide = typename Element::Wide;
  const uint64_t any = (static_cast<uint64_t>(random()) << 32) | random();
  Storage pattern;
  std::memcpy(&pattern, &any, sizeof pattern);
  if constexpr (!std::is_integral_v<Wide>) {
    constexpr Wide kSpecial[] = {Wide{0},
                                 -Wide{0},
                                 std::numeric_limits<Wide>::infinity(),
                                 -std::numeric_limits<Wide>::infinity(),
                                 std::numeric_limits<Wide>::quiet_NaN(),
                                 -std::numeric_limits<Wide>::quiet_NaN(),
                                 std::numeric_limits<Wide>::denorm_min(),
                                 Wide{1},
                                 Wide{60000},
                                 Wide{448}};
    const uint32_t kind = random() % 8;
    if (kind == 0) return Element::Narrow(kSpecial[random() % std::size(kSpecial)]);
    if (kind > 1) return Element::Narrow(std::normal_distribution<Wide>(0, 4)(random));
  }
  return pattern;
}

}  // namespace

Bytes ReferenceReduceMany(DataType type, ReduceOp op, const std::vector<Bytes>& sources,
                          const std::vector<Factor>& factors) {
  bool copies = sources.size() == 1;
  for (const Factor& factor : factors) copies = copies && factor.is_one();
  if (copies) return sources[0];
  return Visit(
      type, [&](auto element) { return ReduceElements<decltype(element)>(op, sources, factors); });
}

Bytes RandomElements(DataType type, size_t count, std::mt19937& random) {
  Bytes bytes(count * SizeOf(type));
  Visit(type, [&](auto element) {
    for (size_t i = 0; i < count; ++i) {
      const auto value = RandomElement<decltype(element)>(random);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return 0;
  });
  return bytes;
}

Factor SmallFactor(DataType type, std::mt19937& random) {
  const int eighths = static_cast<int>(random() % 33) - 16;
  return Factor::Of(IsInteger(type) ? Reduction::PreMultipliedSum(eighths)
                                    : Reduction::PreMultipliedSum(eighths / 8.0),
                    type, 1);
}

uint32_t TestSeed() {
  const char* const replay = std::getenv("PHALANX_TEST_SEED");
  const auto seed =
      static_cast<uint32_t>(replay != nullptr ? std::stoul(replay) : std::random_device{}());
  std::cout << "PHALANX_TEST_SEED=" << seed << "\n";
  return seed;
}

}  // namespace phalanx::device
