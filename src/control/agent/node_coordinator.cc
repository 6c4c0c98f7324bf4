// The node's other half: what the coordinator says, and what becomes of it.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "node.h"
#include "said.h"

namespace phalanx::control {

void Node::OnCoordinatorMessage(const Message& message) {
  HearCoordinator();
  if (std::holds_alternative<message::Heartbeat>(message)) return;
  if (const auto* welcome = std::get_if<message::AgentWelcome>(&message)) {
    OnWelcome(*welcome);
  } else if (std::holds_alternative<message::Progress>(message)) {
    TellJoining(message);
  } else if (const auto* refused = std::get_if<message::Refused>(&message)) {
    OnRefused(*refused);
  } else if (const auto* view = std::get_if<message::View>(&message)) {
    OnView(*view);
  } else if (const auto* revoked = std::get_if<message::Revoked>(&message)) {
    OnRevoked(*revoked);
  } else if (const auto* left = std::get_if<message::AllLeft>(&message)) {
    OnAllLeft(*left);
  } else if (const auto* ordering = std::get_if<message::Ordering>(&message)) {
    OnCoordinatorOrdering(*ordering);
  } else if (const auto* checkpoint = std::get_if<message::Checkpoint>(&message)) {
    OnCoordinatorCheckpoint(*checkpoint);
  } else if (const auto* steps = std::get_if<message::Steps>(&message)) {
    OnCoordinatorSteps(*steps);
  } else if (const auto* ids = std::get_if<message::CommunicatorIds>(&message)) {
    OnCommunicatorIds(*ids);
  } else if (const auto* status = std::get_if<message::JobStatus>(&message)) {
    OnJobStatus(*status);
  } else if (const auto* accepted = std::get_if<message::SpareAccepted>(&message)) {
    OnSpareAccepted(*accepted);
  } else if (const auto* finished = std::get_if<message::AllFinished>(&message)) {
    OnAllFinished(*finished);
  } else if (const auto* evict = std::get_if<message::Evict>(&message)) {
    OnEvict(*evict);
  } else if (const auto* ask = std::get_if<message::AskWitness>(&message)) {
    OnAskWitness(*ask);
  } else if (const auto* suffer = std::get_if<message::Suffer>(&message)) {
    OnSuffer(*suffer);
  } else if (const auto* start = std::get_if<message::StartSpare>(&message)) {
    OnStartSpare(*start);
  } else {
    options_.logger.Warning(
        absl::StrCat("ignored a message from the coordinator: ", NameOf(message)));
  }
}

void Node::OnCoordinatorLost(const absl::Status& status) {
  coordinator_lost_ = true;
  if (phase_ != Phase::kOver && done_ == nullptr) {
    options_.logger.Error(std::string(status.message()));
    // The same to everybody as if the coordinator had said it.
    OnRevoked(message::Revoked{epoch_, status});
  }
  if (done_ != nullptr) std::exchange(done_, nullptr)();
}

void Node::OnRefused(const message::Refused& refused) {
  if (refused.incarnation == Incarnation{0}) {
    options_.logger.Error(
        absl::StrCat("the coordinator refused this node: ", refused.status.message()));
    if (refused.evicted && phase_ != Phase::kOver) {
      // Our owner hears of it first, so that their ends aren't taken for failures.
      events_->OnEvicted(refused.status);
      KillWorkers();
    }
    OnRevoked(message::Revoked{epoch_, refused.status});
    return;
  }
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::kJoining && worker.incarnation == refused.incarnation) {
      Refuse(worker, refused.status);
      return;
    }
  }
}

void Node::OnCommunicatorIds(const message::CommunicatorIds& ids) {
  for (auto& [id, worker] : workers_) {
    if (worker.incarnation != ids.incarnation || worker.connection == nullptr) continue;
    worker.connection->Send(ids);
    return;
  }
}

void Node::OnView(const message::View& view) {
  if (phase_ != Phase::kJoining) return;
  phase_ = Phase::kRunning;
  epoch_ = view.epoch;
  all_finished_ = false;
  ForgetWhatIsKnown(view, &said_);
  // Whoever was lost meanwhile is no member of it.
  if (std::exchange(failures_unsettled_, false)) events_->OnRecovering();
  watch_.set_suspect_after(std::chrono::milliseconds(view.settings.suspect_after_ms));
  std::map<uint64_t, Worker*> by_incarnation;
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::kJoining || worker.state == State::kSpare) {
      by_incarnation[worker.incarnation.value] = &worker;
    }
  }
  std::vector<std::pair<int, Worker*>> local;
  for (const message::Member& member : view.members) {
    if (member.node != node_) continue;
    const auto found = by_incarnation.find(member.incarnation.value);
    if (found != by_incarnation.end()) local.emplace_back(member.rank, found->second);
  }
  std::vector<pid_t> pids;
  for (const auto& [rank, worker] : local) pids.push_back(worker->pid);
  events_->OnViewBegan(pids);
  SendSegments(local);
  for (const auto& [rank, worker] : local) {
    worker->state = State::kMember;
    worker->rank = rank;
    worker->recoverable = view.epoch != Epoch{1} || worker->join->spare;
    worker->join.reset();
    if (worker->connection != nullptr) worker->connection->Send(view);
    // Those who need it have it (or it waits in their queue): when they all have gone, it must not
    // stay alive through us.
    worker->segment.reset();
  }
  StartOrdering(view);
  std::set<int> nodes;
  for (const message::Member& member : view.members) nodes.insert(member.node);
  const int wanted = view.settings.replicas > 0 ? view.settings.replicas : kDefaultReplicas;
  checkpoints_.BeginView(view.epoch, worker_of_rank_,
                         std::min(wanted, static_cast<int>(nodes.size())));
}

void Node::SendSegments(const std::vector<std::pair<int, Worker*>>& local) {
  std::vector<std::pair<message::Segments, std::vector<SharedFd>>> parts;
  for (const auto& [rank, worker] : local) {
    if (worker->segment == nullptr) continue;
    if (parts.empty() || parts.back().second.size() == WorkerConnection::kMostFdsPerMessage) {
      parts.emplace_back();
    }
    parts.back().first.ranks.push_back(rank);
    parts.back().second.push_back(worker->segment);
  }
  for (const auto& [rank, worker] : local) {
    if (worker->connection == nullptr) continue;
    for (const auto& [segments, fds] : parts) worker->connection->Send(segments, fds);
  }
}

void Node::OnSpareAccepted(const message::SpareAccepted& accepted) {
  for (auto& [id, worker] : workers_) {
    if (worker.state != State::kJoining || worker.incarnation != accepted.incarnation) continue;
    worker.state = State::kSpare;
    if (worker.connection != nullptr) worker.connection->Send(accepted);
  }
}

void Node::OnAllFinished(const message::AllFinished& finished) {
  all_finished_ = true;
  for (auto& [id, worker] : workers_) {
    const bool hears = IsAwaited(worker) && worker.connection != nullptr;
    if (hears) worker.connection->Send(finished);
  }
}

// The view is over and another one follows: its members may join again.
void Node::AwaitNextView(const message::Revoked& revoked) {
  if (phase_ != Phase::kRunning) return;
  events_->OnRecovering();
  LeaveView();
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::kMember) Revoke(worker, revoked.reason);
  }
}

void Node::LeaveView() {
  phase_ = Phase::kJoining;
  tick_timer_.cancel();
  ordering_.reset();
  checkpoints_.EndView();
  worker_of_rank_.clear();
}

void Node::Revoke(Worker& worker, const absl::Status& reason) {
  worker.state = State::kReturning;
  if (worker.connection != nullptr) {
    worker.connection->Send(message::Revoked{epoch_, reason, /*goes_on=*/true});
  }
}

void Node::OnRevoked(const message::Revoked& revoked) {
  if (phase_ == Phase::kOver) return;
  if (revoked.goes_on) return AwaitNextView(revoked);
  const bool had_view = phase_ == Phase::kRunning;
  // Our owner hears of it first, so that a worker which ends because of it isn't taken for the
  // cause.
  if (had_view) events_->OnRevoked(revoked.reason);
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::kJoining) {
      Refuse(worker, revoked.reason);
    } else if (worker.connection != nullptr && (had_view || IsAwaited(worker))) {
      // Those who have left wait to hear how it ended, too.
      worker.connection->Send(revoked);
    }
  }
  EndJob(revoked.reason);
}

void Node::OnAllLeft(const message::AllLeft& left) {
  if (phase_ == Phase::kOver) return;
  // Our owner hears of it before any worker can have ended because of it.
  EndJob(absl::OkStatus());
  for (auto& [id, worker] : workers_) {
    if (worker.connection != nullptr) worker.connection->Send(left);
  }
}

void Node::TellJoining(const Message& message) {
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::kJoining && worker.connection != nullptr) {
      worker.connection->Send(message);
    }
  }
}

void Node::EndJob(const absl::Status& status) {
  phase_ = Phase::kOver;
  over_ = status;
  tick_timer_.cancel();
  // After a failure we go on listening: workers that come late are told why. After a good end the
  // name is free for the next job.
  asio::error_code ignored;
  if (status.ok()) acceptor_.close(ignored);
  events_->OnJobOver(status);
  CheckDeserted();
}

}  // namespace phalanx::control
