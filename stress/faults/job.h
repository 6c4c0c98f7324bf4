// One job, run as a process of its own.
#ifndef PHALANX_FAULT_STRESS_JOB_H_
#define PHALANX_FAULT_STRESS_JOB_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "signals.h"

namespace phalanx::stress {

struct JobEnd {
  bool hung = false;               // its deadline came, and it was killed
  std::optional<int> interrupted;  // by this signal to us, which it was given
  int exit_code = 0;               // as a shell has it
  std::string how;                 // "exited with code 3"
  std::string output;
  std::string error;
};

// `command`: the program's file and its arguments; `variable` (NAME=VALUE) is added to our
// environment. A job that a signal came for has ten seconds to end, or until the second one.
// Errors as of control::SpawnChild.
absl::StatusOr<JobEnd> RunJob(const std::vector<std::string>& command, const std::string& variable,
                              Clock::duration longest, EndSignals* signals);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_JOB_H_
