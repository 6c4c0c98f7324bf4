// From a process's options to the agent of its machine, started if need be.
#ifndef PHALANX_API_FIND_AGENT_H_
#define PHALANX_API_FIND_AGENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "control_process/fd.h"
#include "phalanx/options.h"

namespace phalanx::api {

struct FoundAgent {
  std::string socket;       // for control::Client::Connect
  control::Fd coordinator;  // keeps a coordinator that we started alive until somebody has joined
};

// `options` have been validated. The errors are those of Session::Join.
absl::StatusOr<FoundAgent> FindAgent(const Options& options, Deadline deadline);

}  // namespace phalanx::api

#endif  // PHALANX_API_FIND_AGENT_H_
