// One collective on one pair of buffers: how to start it, what it moves, and what must come out.
#ifndef PHALANX_STRESS_BENCH_TRIAL_H_
#define PHALANX_STRESS_BENCH_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "phalanx/communicator.h"
#include "stress/benchmark.h"

namespace phalanx::stress {

// What nccl-tests calls a size: the bytes of the larger buffer.
struct Shape {
  size_t bytes = 0;          // a whole number of elements
  size_t count = 0;          // as the operation takes it
  size_t send_elements = 0;  // at the rank that uses most
  size_t receive_elements = 0;
  // Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md).
  double bus_factor = 1.0;
};

Shape ShapeOf(const BenchmarkSettings& settings, int ranks, size_t bytes);

class Trial {
 public:
  // Buffers hold ShapeOf(…, max_bytes) elements and outlive the trial. In place, the trial uses
  // `receive` alone (or `send`, where that is the larger).
  Trial(const BenchmarkSettings& settings, Communicator& communicator, std::byte* send,
        std::byte* receive);

  bool can_be_in_place() const;
  void Prepare(const Shape& shape, bool in_place);  // places the buffers and fills the input
  Work Start();
  uint64_t CountWrong() const;  // after one operation since Prepare()

 private:
  size_t width() const { return SizeOf(settings_.type); }
  double ExpectedAt(size_t index) const;

  const BenchmarkSettings& settings_;
  Communicator& communicator_;
  std::byte* const send_buffer_;
  std::byte* const receive_buffer_;
  Shape shape_;
  std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_TRIAL_H_
