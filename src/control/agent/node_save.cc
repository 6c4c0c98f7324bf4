// The node's fourth part: it hands messages about checkpoints on.
#include <utility>

#include "absl/strings/str_cat.h"
#include "node.h"

namespace phalanx::control {

NodeCheckpoints::Handlers Node::CheckpointHandlers() {
  return {.to_worker =
              [this](uint64_t id, const checkpoint::Message& message, std::vector<SharedFd> fds) {
                const auto worker = workers_.find(id);
                if (worker == workers_.end() || worker->second.connection == nullptr) return;
                const auto count = static_cast<uint32_t>(fds.size());
                worker->second.connection->Send(
                    message::Checkpoint{checkpoint::Encode(message), count}, std::move(fds));
              },
          .to_coordinator =
              [this](const checkpoint::Message& message) {
                link_.Send(message::Checkpoint{checkpoint::Encode(message), 0});
              }};
}

void Node::OnWorkerCheckpoint(uint64_t id, const message::Checkpoint& message) {
  const Worker& worker = workers_.at(id);
  // What comes after the end of its view is of no use to anybody.
  const bool was_member = worker.state == State::kNone && worker.rank >= 0;
  if (phase_ == Phase::kOver || was_member || worker.state == State::kReturning ||
      worker.state == State::kJoining) {
    return;
  }
  const absl::Status status = worker.state == State::kMember
                                  ? checkpoints_.FromWorker(id, message.payload)
                                  : absl::InvalidArgumentError("it saves without being a member");
  if (!status.ok()) DropWorker(id, std::string(status.message()));
}

void Node::OnCoordinatorCheckpoint(const message::Checkpoint& message) {
  const bool is_storing = phase_ == Phase::kOver && over_.ok();
  if (phase_ != Phase::kRunning && !is_storing) return;
  const absl::Status status = checkpoints_.FromCoordinator(message.payload);
  if (!status.ok()) options_.logger.Error(std::string(status.message()));
}

}  // namespace phalanx::control
