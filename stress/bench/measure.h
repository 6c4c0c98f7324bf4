// Timing one trial over all ranks.
#ifndef PHALANX_STRESS_BENCH_MEASURE_H_
#define PHALANX_STRESS_BENCH_MEASURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "trial.h"

namespace phalanx::stress {

struct Measurement {
  double time_us = 0;  // mean of an operation, on the slowest rank
  int iterations = 0;
  uint64_t wrong = 0;  // elements, over all ranks
};

// Collective: every rank measures the same shape. `in_place` as in Trial::Prepare.
absl::StatusOr<Measurement> Measure(const BenchmarkSettings& settings, Communicator& communicator,
                                    Trial& trial, const Shape& shape, bool in_place);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_MEASURE_H_
