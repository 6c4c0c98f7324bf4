// Timing one trial over all ranks.
#ifndef PHALANX_STRESS_BENCH_MEASURE_H_
#define PHALANX_STRESS_BENCH_MEASURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "trial.h"
#include "wire.h"

namespace phalanx::stress {

struct Measurement {
  double time_us = 0;  // mean of an operation, on the slowest rank
  int iterations = 0;
  uint64_t wrong = 0;      // elements, over all ranks
  double wire_bytes = -1;  // of an operation, out of the node that sends most; negative: unknown
};

// Collective: every rank measures the same shape. `in_place` as in Trial::Prepare.
absl::StatusOr<Measurement> Measure(const BenchmarkSettings& settings, Communicator& communicator,
                                    Trial& trial, const Wire& wire, const Shape& shape,
                                    bool in_place);

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_MEASURE_H_
