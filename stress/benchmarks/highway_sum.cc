#include "highway_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "highway_sum.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace phalanx::stress::HWY_NAMESPACE {

namespace simd = hwy::HWY_NAMESPACE;

template <int kSources>
void SumOf(const float* const* sources, float* destination, size_t count) {
  const simd::ScalableTag<float> tag;
  const size_t lanes = simd::Lanes(tag);
  const float* own[kSources];
  for (int s = 0; s < kSources; ++s) own[s] = sources[s];
  for (size_t i = 0; i < count; i += 4 * lanes) {
    auto sum0 = simd::LoadU(tag, own[0] + i);
    auto sum1 = simd::LoadU(tag, own[0] + i + lanes);
    auto sum2 = simd::LoadU(tag, own[0] + i + 2 * lanes);
    auto sum3 = simd::LoadU(tag, own[0] + i + 3 * lanes);
    for (int s = 1; s < kSources; ++s) {
      sum0 = simd::Add(sum0, simd::LoadU(tag, own[s] + i));
      sum1 = simd::Add(sum1, simd::LoadU(tag, own[s] + i + lanes));
      sum2 = simd::Add(sum2, simd::LoadU(tag, own[s] + i + 2 * lanes));
      sum3 = simd::Add(sum3, simd::LoadU(tag, own[s] + i + 3 * lanes));
    }
    simd::StoreU(sum0, tag, destination + i);
    simd::StoreU(sum1, tag, destination + i + lanes);
    simd::StoreU(sum2, tag, destination + i + 2 * lanes);
    simd::StoreU(sum3, tag, destination + i + 3 * lanes);
  }
}

void Sum(const float* const* sources, size_t source_count, float* destination, size_t count) {
  if (source_count == 2) SumOf<2>(sources, destination, count);
  if (source_count == 4) SumOf<4>(sources, destination, count);
  if (source_count == 8) SumOf<8>(sources, destination, count);
}

}  // namespace phalanx::stress::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace phalanx::stress {

HWY_EXPORT(Sum);

void HighwaySum(const float* const* sources, size_t source_count, float* destination,
                size_t count) {
  HWY_DYNAMIC_DISPATCH(Sum)(sources, source_count, destination, count);
}

}  // namespace phalanx::stress
#endif
