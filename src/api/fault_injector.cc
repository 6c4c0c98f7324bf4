#include "fault_injector.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace phalanx::api {
namespace {

constexpr auto kTelling = std::chrono::seconds(1);

void Suffer(const faults::Fault& fault) {
  switch (fault.action) {
    case faults::Action::kKill:
      ::kill(::getpid(), SIGKILL);
      return;
    case faults::Action::kExit:
      std::_Exit(fault.code);
    case faults::Action::kSegfault:
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
      return;
    case faults::Action::kStop:
      ::kill(::getpid(), SIGSTOP);
      return;
    case faults::Action::kCut:
    case faults::Action::kSlow:
    case faults::Action::kDrop:
    case faults::Action::kFlip:
    case faults::Action::kFill:
    case faults::Action::kWipe:
      return;  // not by a process to itself
  }
}

// When the agent is to let a stopped process go on; 0: never.
std::chrono::milliseconds ContinueAfter(const faults::Fault& fault) {
  if (fault.action != faults::Action::kStop) return std::chrono::milliseconds(0);
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 30);
  return std::min(kLongest, std::chrono::ceil<std::chrono::milliseconds>(
                                std::chrono::nanoseconds(fault.for_ns)));
}

}  // namespace

void FaultInjector::AtStep(int rank, int64_t step, control::Client& client) {
  for (const faults::Due& due : plan_.AtStep(rank, step)) {
    client.SayFaultPerformed(due.index, ContinueAfter(due.fault), Deadline::After(kTelling));
    Suffer(due.fault);
  }
}

}  // namespace phalanx::api
