// A float32 sum written with Highway, to measure the library's own vectors against.
#ifndef PHALANX_STRESS_BENCHMARKS_HIGHWAY_SUM_H_
#define PHALANX_STRESS_BENCHMARKS_HIGHWAY_SUM_H_

#include <cstddef>

namespace phalanx::stress {

// destination[i] = sources[0][i] + … for 2, 4 or 8 sources; count is a multiple of 64.
void HighwaySum(const float* const* sources, size_t source_count, float* destination, size_t count);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCHMARKS_HIGHWAY_SUM_H_
