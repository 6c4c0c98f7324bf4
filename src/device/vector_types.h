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

template <typename V>
[[gnu::always_inline]] inline void StoreVector(uint8_t* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}

using Uint32Vector = Vector<uint32_t, kVectorBytes / 4>;

// Reads as many elements of 1 or 2 bytes as a vector of 32-bit ones holds; writes their low bits.
// GCC 12 takes the general form apart into single elements, hence the instructions by name; the
// 512-bit ones in their masked form, since it warns of the others' undefined operand.
template <typename Storage>
[[gnu::always_inline]] inline Uint32Vector LoadWidened(const uint8_t* from) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (sizeof(Storage) == 2) {
    return (Uint32Vector)_mm512_maskz_cvtepu16_epi32(0xffff, LoadVector<__m256i>(from));
  } else {
    return (Uint32Vector)_mm512_maskz_cvtepu8_epi32(0xffff, LoadVector<__m128i>(from));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(Storage) == 2) {
    return (Uint32Vector)_mm256_cvtepu16_epi32(LoadVector<__m128i>(from));
  } else {
    const __m128i eight = _mm_cvtsi64_si128(LoadVector<int64_t>(from));
    return (Uint32Vector)_mm256_cvtepu8_epi32(eight);
  }
#else
  return __builtin_convertvector((LoadVector<Vector<Storage, kVectorBytes / 4> >(from)),
                                 Uint32Vector);
#endif
}

template <typename Storage>
[[gnu::always_inline]] inline void StoreNarrowed(uint8_t* to, Uint32Vector value) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (sizeof(Storage) == 2) {
    StoreVector(to, _mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)value));
  } else {
    StoreVector(to, _mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)value));
  }
#elif defined(__AVX2__)
  const __m128i low = _mm256_castsi256_si128((__m256i)value);
  const __m128i halves = _mm_packus_epi32(low, _mm256_extracti128_si256((__m256i)value, 1));
  if constexpr (sizeof(Storage) == 2) {
    StoreVector(to, halves);
  } else {
    StoreVector(to, static_cast<int64_t>(_mm_cvtsi128_si64(_mm_packus_epi16(halves, halves))));
  }
#else
  using Narrow = Vector<Storage, kVectorBytes / 4>;
  StoreVector(to, __builtin_convertvector(value, Narrow));
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
[[gnu::always_inline]] inline HalfVector<uint16_t> LoadIntoUpperBytes(const uint8_t* from) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  return (HalfVector<uint16_t>)_mm256_cvtepu8_epi16(LoadVector<__m128i>(from)) << 8;
#else
  const __m128i eight = _mm_cvtsi64_si128(LoadVector<int64_t>(from));
  return (HalfVector<uint16_t>)_mm_unpacklo_epi8(_mm_setzero_si128(), eight);
#endif
}

#endif

}  // namespace
}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_VECTOR_TYPES_H_
