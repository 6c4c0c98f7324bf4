// The jobs of this user on this machine.
#ifndef PHALANX_CONTROL_STATUS_FIND_JOBS_H_
#define PHALANX_CONTROL_STATUS_FIND_JOBS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

struct FoundJob {
  std::string job;
  std::string agent;  // one of its agents here, as for AskAgent()
};

// Agents' sockets are in the kernel's list of those that listen, and leave it with their process:
// there is nothing to be stale. Only those of this network namespace are seen. One entry a job, by
// name. UNAVAILABLE when the list can't be read.
absl::StatusOr<std::vector<FoundJob>> FindJobs();

// The same from the text of that list (/proc/net/unix); everybody's jobs.
std::vector<FoundJob> JobsIn(absl::string_view sockets);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_FIND_JOBS_H_
