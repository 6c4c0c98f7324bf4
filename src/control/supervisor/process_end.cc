#include "control_supervisor/process_end.h"

#include <sys/wait.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace phalanx::control {

ProcessEnd ProcessEnd::From(int wait_status) {
  return WIFEXITED(wait_status) ? Exited(WEXITSTATUS(wait_status)) : Killed(WTERMSIG(wait_status));
}

std::string ProcessEnd::Describe() const {
  if (!by_signal) return absl::StrCat("exited with code ", value);
  return absl::StrCat("was killed by signal ", value, " (", SignalName(value), ")");
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

}  // namespace phalanx::control
