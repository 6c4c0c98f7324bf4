// Runs one plan for one operation, step by step, without ever blocking.
#ifndef PHALANX_RUNNER_PLAN_RUNNER_H_
#define PHALANX_RUNNER_PLAN_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  spi::MessageTag tag;          // first tag of the operation; it uses rounds × messages of them
  uint32_t check = 0;           // equal on all members of it; others are refused
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

  // Begins an operation. The runner must be idle, and no run in progress. FAILED_PRECONDITION if
  // the context lacks links or a group that the plan needs; RESOURCE_EXHAUSTED from the group.
  absl::Status Start(const RunContext& context);

  enum class State {
    kComplete,  // all steps of all rounds are done
    kMoved,     // something was done; call again
    kBlocked,   // nothing can be done now
  };
  // Performs what can be performed, at most about `budget_bytes` of reducing and copying, so that
  // the caller can look up (abort, deadline, another op) between chunks. An error ends the run: no
  // further step starts, the group's operation is closed, and the caller aborts the wire if
  // transfers are in flight. The status is that of the step that failed first.
  absl::StatusOr<State> Advance(size_t budget_bytes);

  // Gives up the run, if one is in progress: no further step starts, and the group's operation is
  // closed. Transfers in flight stay so until they end or the wire is aborted.
  void Cancel();

  // No transfer is in flight, so the buffers may be released and the runner started again.
  bool idle() const;

  // After kBlocked: waits on the group's signal that holds up the oldest round, at most `timeout`.
  // False, at once, if no group step is what holds it up (it waits for links).
  bool WaitOnGroup(Clock::duration timeout);

  // The peers that the oldest round waits for, in rank order; none if it waits for nobody. For
  // messages about an operation that doesn't come on.
  std::vector<int> Missing() const;
  // What holds up the oldest round, in words: "ring, round 2 of 7: step 4
  // (receive) rank 3".
  std::string Describe() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace phalanx::engine

#endif  // PHALANX_RUNNER_PLAN_RUNNER_H_
