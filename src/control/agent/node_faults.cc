// The node's part for faults of a test that the coordinator has it suffer.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "control_process/process_descriptor.h"
#include "faults/fault.h"
#include "node.h"

namespace phalanx::control {

using faults::Action;
using faults::Target;

void Node::OnSuffer(const message::Suffer& suffer) {
  const absl::StatusOr<faults::Fault> fault = faults::ParseFault(suffer.fault);
  if (!fault.ok()) {
    options_.logger.Error(std::string(fault.status().message()));
    return;
  }
  options_.logger.Warning(absl::StrCat("a fault: ", suffer.fault));
  if (fault->action == Action::kFlip) return checkpoints_.FlipBit(fault->target.number);
  if (suffer.incarnation != Incarnation{}) return SufferByProcess(*fault, suffer.incarnation);
  const bool kills_node = fault->target.kind == Target::Kind::kNode;
  const bool kills_us = kills_node || fault->target.kind == Target::Kind::kAgent;
  if (fault->action == Action::kKill && kills_us) Die(/*with_workers=*/kills_node);
}

// From here on all goes as if somebody else had done it.
void Node::SufferByProcess(const faults::Fault& fault, Incarnation incarnation) {
  for (auto& [id, worker] : workers_) {
    if (worker.incarnation != incarnation || !IsAwaited(worker)) continue;
    const int signal = fault.action == Action::kStop ? SIGSTOP : SIGKILL;
    const absl::Status sent = SignalProcess(worker.process.native_handle(), signal);
    if (!sent.ok()) {
      options_.logger.Error(absl::StrCat("can't signal pid ", worker.pid, ": ", sent.message()));
    }
    if (fault.action != Action::kStop || fault.for_ns == 0) return;
    constexpr int kTries = 500;
    return ContinueLater(id, std::chrono::nanoseconds(fault.for_ns), kTries);
  }
}

void Node::Die(bool with_workers) {
  if (with_workers) {
    for (auto& [id, worker] : workers_) {
      if (!IsAwaited(worker) || !worker.process.is_open()) continue;
      const absl::Status killed = SignalProcess(worker.process.native_handle(), SIGKILL);
      if (!killed.ok()) options_.logger.Error(std::string(killed.message()));
    }
  }
  while (true) ::kill(::getpid(), SIGKILL);
}

}  // namespace phalanx::control
