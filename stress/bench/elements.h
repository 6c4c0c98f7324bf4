// Test values in every type: small whole numbers, which all types hold exactly.
#ifndef PHALANX_STRESS_BENCH_ELEMENTS_H_
#define PHALANX_STRESS_BENCH_ELEMENTS_H_

#include <cstddef>

#include "phalanx/types.h"

namespace phalanx::stress {

// Element `index` of `buffer`, from and to a double.
void Store(DataType type, void* buffer, size_t index, double value);
double Load(DataType type, const void* buffer, size_t index);

// What rank `rank` contributes at element `index` to a reduction over `ranks`; repeats every
// PatternPeriod(ranks) elements. Reductions of it stay exact in `type`, averages excepted.
double Pattern(DataType type, ReduceOp op, int rank, int ranks, size_t index);
size_t PatternPeriod(int ranks);
// What the reduction over all ranks must give there.
double Expected(DataType type, ReduceOp op, int ranks, size_t index);
// Whether `value` is as good as `expected` in this type.
bool Matches(DataType type, ReduceOp op, double value, double expected);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_ELEMENTS_H_
