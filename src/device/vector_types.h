// The vectors of the instruction set that is being compiled for, and how they are read, written,
// widened and narrowed. See vector_lanes.h for who may include this.
#ifndef PHALANX_DEVICE_VECTOR_TYPES_H_
#define PHALANX_DEVICE_VECTOR_TYPES_H_

#include <cstddef>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace phalanx::device {
namespace {

#if defined(__AVX512F__) && defined(__AVX512BW__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T, int kLanes>
struct VectorType {
  typedef T Type __attribute__((vector_size(sizeof(T) * kLanes)));
};
template <typename T, int kLanes>
using Vector = typename VectorType<T, kLanes>::Type;

template <typename V>
[[gnu::always_inline]] inline V LoadVector(const uint8_t* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// As many bytes as a vector of 32-bit elements has elements of kElementBytes each.
template <int kElementBytes>
using Packed = Vector<uint8_t, kVectorBytes / 4 * kElementBytes>;

template <typename V>
[[gnu::always_inline]] inline void StoreVector(uint8_t* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// Reads the first `bytes` of a vector, 0 < bytes < kBytes, and fills up with zeros; writes them.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
template <int kBytes>
[[gnu::always_inline]] inline Vector<uint8_t, kBytes> LoadPart(const uint8_t* from, size_t bytes) {
  const uint64_t mask = (uint64_t{1} << bytes) - 1;
  if constexpr (kBytes == 64) {
    return (Vector<uint8_t, 64>)_mm512_maskz_loadu_epi8(mask, from);
  } else if constexpr (kBytes == 32) {
    return (Vector<uint8_t, 32>)_mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from);
  } else {
    return (Vector<uint8_t, 16>)_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), from);
  }
}

template <int kBytes>
[[gnu::always_inline]] inline void StorePart(uint8_t* to, Vector<uint8_t, kBytes> value,
                                             size_t bytes) {
  const uint64_t mask = (uint64_t{1} << bytes) - 1;
  if constexpr (kBytes == 64) {
    _mm512_mask_storeu_epi8(to, mask, (__m512i)value);
  } else if constexpr (kBytes == 32) {
    _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(mask), (__m256i)value);
  } else {
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>(mask), (__m128i)value);
  }
}
#else
// By words in registers: a vector that is read back after parts of it were written to memory waits
// until they have arrived there. A word of 1 to 8 bytes is two halves that overlap.
template <typename Half>
[[gnu::always_inline]] inline uint64_t LoadHalves(const uint8_t* from, size_t bytes) {
  Half low, high;
  __builtin_memcpy(&low, from, sizeof low);
  __builtin_memcpy(&high, from + bytes - sizeof high, sizeof high);
  return low | static_cast<uint64_t>(high) << (8 * (bytes - sizeof high));
}

template <typename Half>
[[gnu::always_inline]] inline void StoreHalves(uint8_t* to, uint64_t word, size_t bytes) {
  const Half low = static_cast<Half>(word);
  const Half high = static_cast<Half>(word >> (8 * (bytes - sizeof high)));
  __builtin_memcpy(to, &low, sizeof low);
  __builtin_memcpy(to + bytes - sizeof high, &high, sizeof high);
}

[[gnu::always_inline]] inline uint64_t LoadWord(const uint8_t* from, size_t bytes) {
  if (bytes >= 4) return LoadHalves<uint32_t>(from, bytes);
  if (bytes >= 2) return LoadHalves<uint16_t>(from, bytes);
  return from[0];
}

[[gnu::always_inline]] inline void StoreWord(uint8_t* to, uint64_t word, size_t bytes) {
  if (bytes >= 4) return StoreHalves<uint32_t>(to, word, bytes);
  if (bytes >= 2) return StoreHalves<uint16_t>(to, word, bytes);
  to[0] = static_cast<uint8_t>(word);
}

template <int kBytes>
[[gnu::always_inline]] inline Vector<uint8_t, kBytes> LoadPart(const uint8_t* from, size_t bytes) {
  Vector<uint64_t, (kBytes + 7) / 8> words = {};
  for (size_t i = 0; i < (kBytes + 7) / 8; ++i) {
    if (8 * i >= bytes) break;
    words[i] = LoadWord(from + 8 * i, bytes - 8 * i < 8 ? bytes - 8 * i : 8);
  }
  return LoadVector<Vector<uint8_t, kBytes> >(reinterpret_cast<const uint8_t*>(&words));
}

template <int kBytes>
[[gnu::always_inline]] inline void StorePart(uint8_t* to, Vector<uint8_t, kBytes> value,
                                             size_t bytes) {
  Vector<uint64_t, (kBytes + 7) / 8> words = {};
  if constexpr (kBytes >= 8) {
    words = (Vector<uint64_t, (kBytes + 7) / 8>)value;
  } else {
    words[0] = __builtin_bit_cast(uint32_t, value);
  }
  for (size_t i = 0; i < (kBytes + 7) / 8; ++i) {
    if (8 * i >= bytes) break;
    StoreWord(to + 8 * i, words[i], bytes - 8 * i < 8 ? bytes - 8 * i : 8);
  }
}
#endif

using Uint32Vector = Vector<uint32_t, kVectorBytes / 4>;

// Between elements of 1 or 2 bytes and 32-bit ones, of which the low bits are kept. GCC 12 takes
// the general form apart into single elements, hence the instructions by name; the 512-bit ones in
// their masked form, since it warns of the others' undefined operand.
template <typename Storage>
[[gnu::always_inline]] inline Uint32Vector Widen(Packed<sizeof(Storage)> packed) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (sizeof(Storage) == 2) {
    return (Uint32Vector)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)packed);
  } else {
    return (Uint32Vector)_mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)packed);
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(Storage) == 2) {
    return (Uint32Vector)_mm256_cvtepu16_epi32((__m128i)packed);
  } else {
    return (Uint32Vector)_mm256_cvtepu8_epi32(
        _mm_cvtsi64_si128(__builtin_bit_cast(int64_t, packed)));
  }
#else
  using Narrow = Vector<Storage, kVectorBytes / 4>;
  return __builtin_convertvector((Narrow)packed, Uint32Vector);
#endif
}

template <typename Storage>
[[gnu::always_inline]] inline Packed<sizeof(Storage)> Narrow(Uint32Vector value) {
  using Result = Packed<sizeof(Storage)>;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (sizeof(Storage) == 2) {
    return (Result)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)value);
  } else {
    return (Result)_mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)value);
  }
#elif defined(__AVX2__)
  const __m128i low = _mm256_castsi256_si128((__m256i)value);
  const __m128i halves = _mm_packus_epi32(low, _mm256_extracti128_si256((__m256i)value, 1));
  if constexpr (sizeof(Storage) == 2) {
    return (Result)halves;
  } else {
    const int64_t eight = _mm_cvtsi128_si64(_mm_packus_epi16(halves, halves));
    return __builtin_bit_cast(Result, eight);
  }
#else
  using NarrowVector = Vector<Storage, kVectorBytes / 4>;
  return (Result) __builtin_convertvector(value, NarrowVector);
#endif
}

#if defined(__F16C__) && defined(__AVX2__)

using Float32Vector = Vector<float, kVectorBytes / 4>;
template <typename T>  // of 16 bits: as many as a Float32Vector has
using HalfVector = Vector<T, kVectorBytes / 4>;

[[gnu::always_inline]] inline Float32Vector WidenFloat16(HalfVector<uint16_t> value) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  return (Float32Vector)_mm512_maskz_cvtph_ps(0xffff, (__m256i)value);
#else
  return (Float32Vector)_mm256_cvtph_ps((__m128i)value);
#endif
}

[[gnu::always_inline]] inline HalfVector<uint16_t> NarrowToFloat16(Float32Vector value) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  return (HalfVector<uint16_t>)_mm512_maskz_cvtps_ph(0xffff, (__m512)value,
                                                     _MM_FROUND_TO_NEAREST_INT);
#else
  return (HalfVector<uint16_t>)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#endif
}

// Each byte becomes the upper one of a 16-bit element.
[[gnu::always_inline]] inline HalfVector<uint16_t> IntoUpperBytes(Packed<1> packed) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  return (HalfVector<uint16_t>)_mm256_cvtepu8_epi16((__m128i)packed) << 8;
#else
  const __m128i eight = _mm_cvtsi64_si128(__builtin_bit_cast(int64_t, packed));
  return (HalfVector<uint16_t>)_mm_unpacklo_epi8(_mm_setzero_si128(), eight);
#endif
}

#endif

}  // namespace
}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_VECTOR_TYPES_H_
