// Asks the agent of a job how the job is, without taking part in it.
#ifndef PHALANX_CONTROL_CLIENT_ASK_AGENT_H_
#define PHALANX_CONTROL_CLIENT_ASK_AGENT_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "base/deadline.h"

namespace phalanx::control {

// The answer as JSON (message::JobStatus); `agent` as for Client::Connect(). Waits `timeout` for
// the ranks, whose silence the answer names, and a moment longer for agent and coordinator.
//   UNAVAILABLE        nobody listens there, or the agent has gone
//   PERMISSION_DENIED  it is another user's
//   DEADLINE_EXCEEDED  the agent or the coordinator is silent
absl::StatusOr<std::string> AskAgent(const std::string& agent, std::chrono::milliseconds timeout);

// What it waits beyond `timeout`.
inline constexpr std::chrono::milliseconds kAnswerMargin{1000};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_ASK_AGENT_H_
