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
  }
}

}  // namespace

void FaultInjector::AtStep(int rank, int64_t step, control::Client& client) {
  for (uint32_t index = 0; index < faults_.size(); ++index) {
    const faults::Fault& fault = faults_[index];
    if (fault.rank != rank || fault.step != step || !performed_.insert(index).second) continue;
    client.SayFaultPerformed(index, Deadline::After(kTelling));
    Suffer(fault);
  }
}

}  // namespace phalanx::api
