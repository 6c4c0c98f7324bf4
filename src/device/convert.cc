#include "device/convert.h"

#include <bit>

namespace phalanx::device {
namespace {

// A format of one sign bit, kExponentBits and kMantissaBits. Where kHasInfinity, an exponent of all
// ones is infinity or NaN; else it is an ordinary one, but for the last mantissa, which is NaN.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct Format {
  static constexpr uint32_t kBias = (1u << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kSign = 1u << (kExponentBits + kMantissaBits);
  static constexpr uint32_t kMagnitude = kSign - 1;
  static constexpr uint32_t kMantissa = (1u << kMantissaBits) - 1;
  static constexpr uint32_t kTopExponent = kMagnitude - kMantissa;
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kSignShift = 31 - (kExponentBits + kMantissaBits);

  static bool IsNan(uint32_t magnitude) {
    return kHasInfinity ? magnitude > kTopExponent : magnitude == kMagnitude;
  }

  static float Widen(uint32_t bits) {
    const uint32_t sign = (bits & kSign) << kSignShift;
    const uint32_t magnitude = bits & kMagnitude;
    const uint32_t normal = (magnitude << kShift) + ((127 - kBias) << 23);
    if (IsNan(magnitude) || (kHasInfinity && magnitude == kTopExponent)) {
      return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << kShift));
    }
    if (magnitude <= kMantissa) {
      // Zero or subnormal. With the exponent of the smallest normal it is one implied unit too
      // large, which the subtraction takes away exactly.
      const float unit = std::bit_cast<float>((128 - kBias) << 23);
      const float value = std::bit_cast<float>(normal + (1u << 23)) - unit;
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
    }
    return std::bit_cast<float>(sign | normal);
  }

  // `largest` is what greater magnitudes become.
  static uint32_t Narrow(float value, uint32_t largest) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> kSignShift) & kSign;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | NarrowNan(magnitude);
    uint32_t narrow;
    if (magnitude < ((128 - kBias) << 23)) {
      // Adding a number whose last bit weighs as much as the smallest subnormal rounds there.
      const uint32_t aligner = (127 - kBias + kShift + 1) << 23;
      const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligner);
      narrow = std::bit_cast<uint32_t>(sum) - aligner;
    } else {
      const uint32_t odd = (magnitude >> kShift) & 1;
      narrow = (magnitude - ((127 - kBias) << 23) + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
    }
    return sign | (narrow < largest ? narrow : largest);
  }

  // Keeps the upper bits of the payload; if they are all zero it would be an infinity.
  static uint32_t NarrowNan(uint32_t magnitude) {
    if (!kHasInfinity) return kMagnitude;
    const uint32_t payload = (magnitude >> kShift) & kMantissa;
    return kTopExponent | (payload != 0 ? payload : 1u << (kMantissaBits - 1));
  }
};

using Float16 = Format<5, 10, true>;
using Float8E4m3 = Format<4, 3, false>;
using Float8E5m2 = Format<5, 2, true>;

}  // namespace

float Float16ToFloat(uint16_t bits) { return Float16::Widen(bits); }

uint16_t FloatToFloat16(float value) {
  return static_cast<uint16_t>(Float16::Narrow(value, Float16::kTopExponent));
}

float Bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t upper = bits >> 16;
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    // A payload in the lower half alone would be cut to an infinity.
    return static_cast<uint16_t>((upper & 0x7f) != 0 ? upper : upper | 0x40);
  }
  return static_cast<uint16_t>((bits + 0x7fff + (upper & 1)) >> 16);
}

float Float8E4m3ToFloat(uint8_t bits) { return Float8E4m3::Widen(bits); }

uint8_t FloatToFloat8E4m3(float value) {
  return static_cast<uint8_t>(Float8E4m3::Narrow(value, Float8E4m3::kMagnitude - 1));
}

float Float8E5m2ToFloat(uint8_t bits) { return Float8E5m2::Widen(bits); }

uint8_t FloatToFloat8E5m2(float value) {
  return static_cast<uint8_t>(Float8E5m2::Narrow(value, Float8E5m2::kTopExponent - 1));
}

}  // namespace phalanx::device
