// The node's part for processes that its owner starts as spares and that haven't joined yet: the
// coordinator counts on them.
#include <variant>

#include "node.h"

namespace phalanx::control {

void Node::OnStartSpare(const message::StartSpare& start) {
  if (phase_ == Phase::kOver || restarts_left_ == 0) return;
  --restarts_left_;
  ++spares_to_come_;
  for (Message& said : said_) {
    auto* const lost = std::get_if<message::MemberLost>(&said);
    if (lost != nullptr && lost->incarnation == start.lost) lost->restarted = true;
  }
  events_->OnStartSpare();
}

void Node::SpareExited(pid_t pid, const std::string& how) {
  if (joined_spares_.erase(pid) > 0 || spares_to_come_ == 0 || phase_ == Phase::kOver) return;
  --spares_to_come_;
  link_.Send(message::SpareGone{how});
}

}  // namespace phalanx::control
