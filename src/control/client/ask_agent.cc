#include "control_client/ask_agent.h"

#include <poll.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "connection.h"
#include "control_protocol/message.h"

namespace phalanx::control {

absl::StatusOr<std::string> AskAgent(const std::string& agent, std::chrono::milliseconds timeout) {
  const Deadline deadline = Deadline::After(timeout + kAnswerMargin);
  PHX_ASSIGN_OR_RETURN(Connection connection, Connection::Open(agent, deadline));
  message::AskStatus ask;
  ask.question = 1;
  ask.timeout_ms = static_cast<uint32_t>(timeout.count());
  PHX_RETURN_IF_ERROR(connection.Send(ask, -1, deadline));
  while (true) {
    PHX_ASSIGN_OR_RETURN(std::optional<Message> message, connection.Receive());
    if (message.has_value()) {
      if (auto* status = std::get_if<message::JobStatus>(&*message)) return std::move(status->json);
      continue;
    }
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer through the agent at @", agent,
                       ": it or the job's coordinator is stopped or can't be reached"));
    }
    pollfd waited{connection.fd(), POLLIN, 0};
    constexpr int kSliceMs = 1000;
    ::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs));
  }
}

}  // namespace phalanx::control
