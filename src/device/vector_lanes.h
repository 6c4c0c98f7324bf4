// One vector's worth of each element type: how it is read, computed with and written.
//
// Included by the kernels_*.cc only, each compiled for another instruction set. Everything is in an
// unnamed namespace and nothing of the standard library is used but types: an inline function
// shared with other files could be kept by the linker in the version that only newer processors can
// run.
//
// The vectors are the compiler's own (vector_size), so one source serves every instruction set,
// with no dependence on the optimiser's seeing a loop as vectorisable or on its knowing about
// aliasing.
//
// A float result that is NaN is always written as the one quiet NaN. Which operand's payload an
// addition passes on depends on the order that the compiler gives its operands, so it would differ
// between instruction sets.
#ifndef PHALANX_DEVICE_VECTOR_LANES_H_
#define PHALANX_DEVICE_VECTOR_LANES_H_

#include <cstddef>
#include <cstdint>

#include "vector_types.h"

namespace phalanx::device {
namespace {

// Sums and products are unsigned, so that they wrap; `Ordered` is what minimum and maximum compare.
template <typename Unsigned, typename Ordered>
struct IntegerLanes {
  static constexpr int kElementBytes = sizeof(Unsigned);
  static constexpr int kLanes = kVectorBytes / kElementBytes;
  using Wide = Vector<Unsigned, kLanes>;
  using WideOrdered = Vector<Ordered, kLanes>;

  static Wide Unpack(Vector<uint8_t, kVectorBytes> packed) { return (Wide)packed; }
  static Vector<uint8_t, kVectorBytes> Pack(Wide value) {
    return (Vector<uint8_t, kVectorBytes>)value;
  }
  static Wide Factor(uint64_t bits) { return static_cast<Unsigned>(bits) - Wide{}; }

  static Wide Sum(Wide a, Wide b) { return a + b; }
  static Wide Product(Wide a, Wide b) { return a * b; }
  static Wide Max(Wide a, Wide b) { return (WideOrdered)a > (WideOrdered)b ? a : b; }
  static Wide Min(Wide a, Wide b) { return (WideOrdered)a < (WideOrdered)b ? a : b; }
};

// What float32 and float64 share; the narrower types compute as float32.
template <typename Real, typename Bits, Bits kQuietNan>
struct RealArithmetic {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Real));
  using Wide = Vector<Real, kLanes>;
  using WideBits = Vector<Bits, kLanes>;

  static Wide Factor(uint64_t bits) {
    const Bits own = static_cast<Bits>(bits);
    Real factor;
    __builtin_memcpy(&factor, &own, sizeof factor);
    return factor - Wide{};  // "+" would turn -0 into +0
  }

  static Wide Sum(Wide a, Wide b) { return a + b; }
  static Wide Product(Wide a, Wide b) { return a * b; }
  // Where the operands differ, both selections are the same. Where they are equal, the two are
  // `a` and `b` themselves, and can differ only in the sign of zero: "and" gives +0, "or" -0.
  static Wide Max(Wide a, Wide b) {
    return NanUnlessOrdered(a, b, (Wide)((WideBits)(a > b ? a : b) & (WideBits)(b > a ? b : a)));
  }
  static Wide Min(Wide a, Wide b) {
    return NanUnlessOrdered(a, b, (Wide)((WideBits)(a < b ? a : b) | (WideBits)(b < a ? b : a)));
  }

  static Wide WithOneNan(Wide value) { return value == value ? value : Nan(); }

 private:
  static Wide Nan() { return (Wide)(kQuietNan + WideBits{}); }
  static Wide NanUnlessOrdered(Wide a, Wide b, Wide value) {
    return WithOneNan(a == a ? (b == b ? value : b) : a);
  }
};

using Float32Arithmetic = RealArithmetic<float, uint32_t, 0x7fc00000u>;
using Float64Arithmetic = RealArithmetic<double, uint64_t, 0x7ff8000000000000u>;

template <class Arithmetic>
struct RealLanes : Arithmetic {
  using typename Arithmetic::Wide;
  static constexpr int kElementBytes = kVectorBytes / Arithmetic::kLanes;
  static Wide Unpack(Vector<uint8_t, kVectorBytes> packed) { return (Wide)packed; }
  static Vector<uint8_t, kVectorBytes> Pack(Wide value) {
    return (Vector<uint8_t, kVectorBytes>)Arithmetic::WithOneNan(value);
  }
};
using Float32Lanes = RealLanes<Float32Arithmetic>;
using Float64Lanes = RealLanes<Float64Arithmetic>;

struct Bfloat16Lanes : Float32Arithmetic {
  static constexpr int kElementBytes = 2;
  static Wide Unpack(Packed<2> packed) { return (Wide)(Widen<uint16_t>(packed) << 16); }
  static Packed<2> Pack(Wide value) {
    const WideBits bits = (WideBits)value;
    const WideBits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const WideBits nan = 0x7fc0 + WideBits{};
    return Narrow<uint16_t>(value == value ? rounded : nan);
  }
};

// An IEEE-like format of one sign bit, kExponentBits and kMantissaBits; the pattern of all ones in
// the exponent is infinity and NaN where kHasInfinity, else it is used but for its last mantissa,
// which is NaN. The steps are those of convert.cc, four to sixteen elements at a time.
template <typename Storage, int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct NarrowFloatLanes : Float32Arithmetic {
  static constexpr int kElementBytes = sizeof(Storage);

  static constexpr uint32_t kBias = (1u << (kExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kSignShift = 31 - (kExponentBits + kMantissaBits);
  static constexpr uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  static constexpr uint32_t kTopExponent = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr uint32_t kQuietNan =
      kHasInfinity ? kTopExponent | 1u << (kMantissaBits - 1) : kMagnitude;
  // Float16 overflows to infinity; the float8 types stop at the largest finite value.
  static constexpr bool kSaturates = sizeof(Storage) == 1;
  static constexpr uint32_t kLargest =
      !kSaturates ? kTopExponent : (kHasInfinity ? kTopExponent - 1 : kMagnitude - 1);

  static Wide Unpack(Packed<sizeof(Storage)> packed) {
    const WideBits narrow = Widen<Storage>(packed);
    const WideBits magnitude = narrow & kMagnitude;
    const WideBits sign = (narrow & (kMagnitude + 1)) << kSignShift;
    const WideBits normal = (magnitude << kShift) + ((127 - kBias) << 23);
    // A subnormal m·2^(1-bias-mantissa bits): with the exponent of the smallest normal it is one
    // implied unit too large, which the subtraction takes away exactly.
    const Wide unit = (Wide)(((128 - kBias) << 23) + WideBits{});
    const Wide subnormal = (Wide)(normal + (1u << 23)) - unit;
    WideBits bits = magnitude < (1u << kMantissaBits) ? (WideBits)subnormal : normal;
    if constexpr (kHasInfinity) {
      bits = magnitude >= kTopExponent ? (magnitude << kShift) | 0x7f800000u : bits;
    } else {
      bits = magnitude == kMagnitude ? 0x7fc00000u + WideBits{} : bits;
    }
    return (Wide)(bits | sign);
  }

  static Packed<sizeof(Storage)> Pack(Wide value) {
    const WideBits all = (WideBits)value;
    const WideBits magnitude = all & 0x7fffffffu;
    const WideBits sign = (all >> kSignShift) & (kMagnitude + 1);
    // Adding a number whose last bit weighs as much as the format's smallest subnormal rounds
    // there.
    const WideBits aligner = ((127 - kBias + kShift + 1) << 23) + WideBits{};
    const WideBits subnormal = (WideBits)((Wide)magnitude + (Wide)aligner) - aligner;
    const WideBits odd = (magnitude >> kShift) & 1;
    const WideBits normal =
        (magnitude - ((127 - kBias) << 23) + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
    WideBits narrow = magnitude < ((128 - kBias) << 23) ? subnormal : normal;
    narrow = narrow < kLargest ? narrow : kLargest + WideBits{};
    narrow |= sign;
    narrow = value == value ? narrow : kQuietNan + WideBits{};
    return Narrow<Storage>(narrow);
  }
};

using Float8E4m3Lanes = NarrowFloatLanes<uint8_t, 4, 3, false>;
using GeneralFloat16Lanes = NarrowFloatLanes<uint16_t, 5, 10, true>;
using GeneralFloat8E5m2Lanes = NarrowFloatLanes<uint8_t, 5, 2, true>;

#if defined(__F16C__) && defined(__AVX2__)

// The processor's own conversion, which rounds like ours; the one NaN comes out the same.
struct Float16Lanes : Float32Arithmetic {
  static constexpr int kElementBytes = 2;
  static Wide Unpack(Packed<2> packed) { return (Wide)WidenFloat16((HalfVector<uint16_t>)packed); }
  static Packed<2> Pack(Wide value) {
    return (Packed<2>)NarrowToFloat16((Float32Vector)WithOneNan(value));
  }
};

// The upper half of a float16.
struct Float8E5m2Lanes : GeneralFloat8E5m2Lanes {
  static Wide Unpack(Packed<1> packed) { return (Wide)WidenFloat16(IntoUpperBytes(packed)); }
};

#else

using Float16Lanes = GeneralFloat16Lanes;
using Float8E5m2Lanes = GeneralFloat8E5m2Lanes;

#endif

}  // namespace
}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_VECTOR_LANES_H_
