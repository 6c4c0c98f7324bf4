// How much memory the ordering's cores take, by the allocator's books.
#ifndef PHALANX_SIMULATE_ORDER_MEMORY_H_
#define PHALANX_SIMULATE_ORDER_MEMORY_H_

#include <cstddef>

#include "large_job.h"
#include "simulate/order.h"

namespace phalanx::simulate {

// What this thread's heap has taken since the probe was made. The sanitizers' allocators keep no
// such books: 0 there.
class MemoryProbe {
 public:
  MemoryProbe() : begin_(InUse()) {}
  size_t Taken() const;

 private:
  static size_t InUse();

  const size_t begin_;
};

// Of cores of their own, with one operation of each communicator in flight.
OrderMemory MeasureMemory(const OrderSettings& settings, const LargeJob& job);

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_ORDER_MEMORY_H_
