// The node's third part: it hands the ordering service's messages on.
#include <utility>

#include "absl/strings/str_cat.h"
#include "node.h"

namespace phalanx::control {
namespace {

// See NodeOrdering::Tick().
constexpr Clock::duration kTickInterval = std::chrono::milliseconds(10);

}  // namespace

void Node::StartOrdering(const message::View& view) {
  for (const auto& [id, worker] : workers_) {
    if (worker.state == State::kMember) worker_of_rank_[worker.rank] = id;
  }
  ordering_ = NodeOrdering::Make(
      node_, view,
      {.to_worker = [this](int rank, std::string payload) { TellWorker(rank, std::move(payload)); },
       .to_coordinator =
           [this](std::string payload) { link_.Send(message::Ordering{std::move(payload)}); }});
}

void Node::OnWorkerOrdering(uint64_t id, const message::Ordering& ordering) {
  const Worker& worker = workers_.at(id);
  // One that has left still answers for itself, so that others can be told that it won't come.
  const bool is_known = worker.rank >= 0;
  // What comes after the end, or after the end of its view, is of no use to anybody.
  const bool late = worker.state == State::kReturning || worker.state == State::kJoining;
  if (phase_ == Phase::kOver || late || (worker.state == State::kNone && !is_known)) return;
  if (ordering_ == nullptr || !is_known) {
    DropWorker(id, "it sent Ordering where nothing is ordered");
    return;
  }
  if (const absl::Status status = ordering_->FromWorker(worker.rank, ordering.payload);
      !status.ok()) {
    DropWorker(id, std::string(status.message()));
    return;
  }
  StartTick();
}

void Node::OnCoordinatorOrdering(const message::Ordering& ordering) {
  if (phase_ != Phase::kRunning) return;
  const absl::Status status = ordering_ == nullptr
                                  ? absl::InvalidArgumentError("nothing is ordered on this node")
                                  : ordering_->FromCoordinator(ordering.payload);
  if (status.ok()) {
    StartTick();
    return;
  }
  // Without it the node would wait for ever.
  const std::string line =
      absl::StrCat("the coordinator sent an order that can't be followed: ", status.message());
  options_.logger.Error(line);
  OnRevoked(message::Revoked{epoch_, absl::InternalError(line)});
}

void Node::TellWorker(int rank, std::string payload) {
  const auto id = worker_of_rank_.find(rank);
  if (id == worker_of_rank_.end()) return;
  const auto worker = workers_.find(id->second);
  if (worker == workers_.end() || worker->second.connection == nullptr) return;
  worker->second.connection->Send(message::Ordering{std::move(payload)});
}

// Runs only while something is going on, so that an idle job costs nothing.
void Node::StartTick() {
  if (ticking_ || phase_ != Phase::kRunning) return;
  ticking_ = true;
  tick_timer_.expires_after(kTickInterval);
  tick_timer_.async_wait([this](const asio::error_code& error) {
    ticking_ = false;
    if (error || phase_ != Phase::kRunning) return;
    if (ordering_->Tick()) StartTick();
  });
}

}  // namespace phalanx::control
