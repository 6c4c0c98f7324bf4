// Asks a job's coordinator how the job is, from any machine that has the job's key.
#ifndef PHALANX_CONTROL_STATUS_ASK_COORDINATOR_H_
#define PHALANX_CONTROL_STATUS_ASK_COORDINATOR_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "control_protocol/endpoint.h"

namespace phalanx::control {

// As AskAgent().
//   PERMISSION_DENIED  another job, or the wrong key
//   UNAVAILABLE        the coordinator can't be reached
//   DEADLINE_EXCEEDED  it is silent
absl::StatusOr<std::string> AskCoordinator(const std::string& job, const std::string& secret,
                                           const Endpoint& coordinator,
                                           std::chrono::milliseconds timeout);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_ASK_COORDINATOR_H_
