// The node's part for a coordinator that comes after another: the members return to it as after any
// loss, and it hears again what its predecessor may have taken with it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "node.h"

namespace phalanx::control {

message::AgentHello Node::Hello() const {
  message::AgentHello hello;
  hello.job = options_.job;
  hello.node = node_;
  hello.node_name = options_.node_name;
  hello.cores = options_.cores;
  hello.machine = options_.machine;
  // Those that have not joined, and those whose joining is said again.
  hello.spares = spares_to_come_;
  hello.restarts = restarts_left_;
  for (const auto& [id, worker] : workers_) {
    if (worker.join.has_value() && worker.join->spare && IsAwaited(worker)) ++hello.spares;
  }
  return hello;
}

void Node::SayAlways(const Message& message) {
  said_.push_back(message);
  link_.Send(message);
}

std::optional<message::AgentHello> Node::OnCoordinatorInterrupted(const absl::Status& status) {
  if (phase_ == Phase::kOver) return std::nullopt;
  options_.logger.Warning(absl::StrCat(status.message(), "; waiting for another one"));
  failures_unsettled_ = true;
  welcomed_ = false;
  for (const Message& message : said_) link_.Send(message);
  if (phase_ == Phase::kRunning && !all_finished_) {
    const bool lost = std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
      return entry.second.state == State::kMember && !entry.second.recoverable;
    });
    // As in OnRevoked(): our owner hears of it first.
    if (lost) events_->OnRevoked(status);
    LeaveView();
    for (auto& [id, worker] : workers_) {
      if (worker.state != State::kMember) continue;
      if (worker.recoverable) {
        Revoke(worker, status);
        continue;
      }
      if (worker.connection != nullptr) worker.connection->Send(message::Revoked{epoch_, status});
      ReportLost(worker, "was outside of Run when the coordinator was lost");
    }
  }
  for (const auto& [id, worker] : workers_) {
    if (worker.join.has_value() && IsAwaited(worker)) link_.Send(*worker.join);
  }
  message::AgentHello hello = Hello();
  hello.returns = true;
  return hello;
}

}  // namespace phalanx::control
