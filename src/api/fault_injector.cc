#include "fault_injector.h"

#include <signal.h>
#include <unistd.h>

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
    case faults::Action::kCut:
    case faults::Action::kSlow:
    case faults::Action::kDrop:
    case faults::Action::kFlip:
    case faults::Action::kFill:
    case faults::Action::kWipe:
      return;  // not by a process to itself; `phalanx run` refuses them
  }
}

}  // namespace

void FaultInjector::AtStep(int rank, int64_t step, control::Client& client) {
  for (const faults::Due& due : plan_.AtStep(rank, step)) {
    client.SayFaultPerformed(due.index, Deadline::After(kTelling));
    Suffer(due.fault);
  }
}

}  // namespace phalanx::api
