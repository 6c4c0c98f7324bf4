// The node's part for faults of a test that the coordinator has it suffer.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control_process/process_descriptor.h"
#include "faults/fault.h"
#include "node.h"

namespace phalanx::control {

using faults::Action;
using faults::Target;

namespace {

// After `delay`, in a child of a process that has threads: only system calls.
[[noreturn]] void ContinueAll(const std::vector<pid_t>& pids, std::chrono::nanoseconds delay) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close_range(0, ~0U, 0);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count();
  ::poll(nullptr, 0, static_cast<int>(ms));
  for (const pid_t pid : pids) ::kill(pid, SIGCONT);
  ::_exit(0);
}

}  // namespace

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
  if (fault->action == Action::kStop && kills_node) {
    return StopNode(std::chrono::nanoseconds(fault->for_ns));
  }
  if (fault->action == Action::kKill && kills_us) Die(/*with_workers=*/kills_node);
}

// The workers first: nobody is to hear of it from us. Who lets all go on mustn't be stopped itself,
// so it is a child, which knows that none of these can have been reaped: we are stopped.
void Node::StopNode(Clock::duration duration) {
  std::vector<pid_t> stopped;
  for (auto& [id, worker] : workers_) {
    if (!IsAwaited(worker) || !worker.process.is_open()) continue;
    const absl::Status sent = SignalProcess(worker.process.native_handle(), SIGSTOP);
    if (sent.ok()) stopped.push_back(worker.pid);
  }
  stopped.push_back(::getpid());
  if (duration > Clock::duration::zero() && ::fork() == 0) {
    ContinueAll(stopped, std::chrono::duration_cast<std::chrono::nanoseconds>(duration));
  }
  ::kill(::getpid(), SIGSTOP);
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
  if (with_workers) KillWorkers();
  while (true) ::kill(::getpid(), SIGKILL);
}

}  // namespace phalanx::control
