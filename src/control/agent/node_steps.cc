// The node's part of steps that are applied live: it passes on what is said of them. Also between
// two views, when it is decided where the ranks stand that live.
#include <utility>

#include "node.h"

namespace phalanx::control {

// What an ended or a refused one says is of no use to anybody.
void Node::OnWorkerSteps(const Worker& worker, message::Steps message) {
  if (!IsAwaited(worker)) return;
  message.incarnation = worker.incarnation;
  link_.Send(message);
}

void Node::OnCoordinatorSteps(const message::Steps& message) {
  for (auto& [id, worker] : workers_) {
    if (worker.incarnation != message.incarnation || !IsAwaited(worker)) continue;
    if (worker.connection != nullptr) worker.connection->Send(message);
    return;
  }
}

}  // namespace phalanx::control
