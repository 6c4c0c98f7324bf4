// The nodes of a job, as users write them.
#ifndef PHALANX_CONTROL_LAUNCH_HOST_LIST_H_
#define PHALANX_CONTROL_LAUNCH_HOST_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace phalanx::control {

struct HostSlots {
  std::string host;
  int slots = 1;  // how many ranks
};

// "host1:2,host2:2"; a host without a number has one slot; an IPv6 address stands in brackets.
// INVALID_ARGUMENT names the part that is wrong.
absl::StatusOr<std::vector<HostSlots>> ParseHostList(const std::string& text);

// One host a line: "host1:2", "host1 slots=2" (Open MPI) or "host1"; `#` begins a comment.
// INVALID_ARGUMENT names the line.
absl::StatusOr<std::vector<HostSlots>> ParseHostFile(const std::string& text);

// Takes `ranks` slots in order, leaving out hosts that get none. INVALID_ARGUMENT when there are
// fewer.
absl::StatusOr<std::vector<HostSlots>> TakeSlots(const std::vector<HostSlots>& hosts, int ranks);

// Whether `host` means this machine, which needs no remote shell.
bool IsThisMachine(const std::string& host, const std::string& host_name);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_HOST_LIST_H_
