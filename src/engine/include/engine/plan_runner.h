// Runs one plan for one operation, step by step, without ever blocking.
#ifndef PHALANX_ENGINE_PLAN_RUNNER_H_
#define PHALANX_ENGINE_PLAN_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/reduce.h"
#include "plan/plan.h"
#include "spi/group.h"
#include "spi/link.h"

namespace phalanx::engine {

// What a run works on. Pointers are borrowed until the run is finished or, after an error, until
// every transfer has ended (PlanRunner::idle()).
struct RunContext {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  device::Factor factor;  // this rank's, for kScale and kPullReduce
  absl::Span<spi::Link* const>
      links;  // by group rank; null at our own. Empty if the plan needs none
  spi::GroupTransport* group = nullptr;
  uint64_t group_sequence = 0;  // of this operation on the group transport
  spi::MessageTag tag = 0;      // first tag of the operation; it uses rounds × messages of them
};

// Holds everything that a run needs, allocated once: a runner is kept and started again for every
// operation with the same plan. Not thread-safe (the holder of the progress token calls it).
class PlanRunner {
 public:
  // `listener` (may be null) is told of every finished transfer.
  PlanRunner(std::shared_ptr<const plan::Plan> plan, spi::TransferListener* listener);
  ~PlanRunner();
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  // Begins an operation. The runner must be idle.
  absl::Status Start(const RunContext& context);

  enum class State {
    kComplete,  // all steps of all rounds are done
    kMoved,     // something was done; call again
    kBlocked,   // nothing can be done now
  };
  // Performs what can be performed, at most about `budget_bytes` of reducing and copying, so that
  // the caller can look up (abort, deadline, another op) between chunks. An error ends the run: no
  // further step starts, and the caller aborts the wire if transfers are in flight.
  absl::StatusOr<State> Advance(size_t budget_bytes);

  // No transfer is in flight, so the buffers may be released and the runner started again.
  bool idle() const;

  // After kBlocked: waits on the group's signal that holds up the oldest round, at most `timeout`.
  // False, at once, if no group step is what holds it up (it waits for links).
  bool WaitOnGroup(Clock::duration timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_PLAN_RUNNER_H_
