#include "node.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

using LocalSocket = asio::local::stream_protocol::socket;

// How long a closed connection waits for its owner to say how the process ended.
constexpr Clock::duration kExitWait = std::chrono::milliseconds(100);
// Of processes that ended without a connection: enough for a node, bounded for a long job.
constexpr size_t kMostExits = 4096;
// Reported then; nothing else follows from it.
constexpr Clock::duration kCoordinatorSilence = std::chrono::seconds(10);

}  // namespace

Node::Node(asio::io_context& context, const AgentOptions& options, TlsContext* tls,
           AgentEvents* events)
    : context_(context),
      options_(options),
      events_(events),
      acceptor_(context),
      link_(context, options.coordinator, tls),
      idle_timer_(context),
      node_(options.node),
      spares_to_come_(options.spares),
      restarts_left_(options.restarts),
      checkpoints_(context, CheckpointHandlers(), options.persist, options.job, options.logger),
      tick_timer_(context),
      watch_timer_(context),
      coordinator_silence_({kCoordinatorSilence, WorkerWatch::kTickInterval}) {}

absl::Status Node::Open() {
  PHX_RETURN_IF_ERROR(
      checkpoints_.Open({.job = options_.job,
                         .key = options_.key,
                         .background_bytes_per_second = options_.replication_bytes_per_second}));
  const asio::local::stream_protocol::endpoint endpoint(std::string(1, '\0') +
                                                        options_.socket_name);
  asio::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (error == asio::error::address_in_use) {
    return absl::AlreadyExistsError(
        absl::StrCat("another agent listens at @", options_.socket_name));
  }
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen at @", options_.socket_name, ": ", error.message()));
  }
  return absl::OkStatus();
}

void Node::Start() {
  if (options_.awaits_successors) link_.AwaitSuccessors(options_.connect_timeout);
  link_.Start(Hello(), Deadline::After(options_.connect_timeout),
              {.opened =
                   [this](const std::string& own_address, message::AgentHello* hello) {
                     hello->peers = checkpoints_.Listen(own_address);
                   },
               .message = [this](const Message& message) { OnCoordinatorMessage(message); },
               .interrupted =
                   [this](const absl::Status& status) { return OnCoordinatorInterrupted(status); },
               .lost = [this](const absl::Status& status) { OnCoordinatorLost(status); }});
  Accept();
  StartWatch();
  CheckDeserted();
}

void Node::Finish(Clock::duration timeout, std::function<void()> done) {
  asio::error_code ignored;
  acceptor_.close(ignored);
  idle_timer_.cancel();
  tick_timer_.cancel();
  watch_timer_.cancel();
  if (coordinator_lost_) {
    done();
    return;
  }
  done_ = std::move(done);
  // The coordinator closes once the last version is in files; the caller waits no longer than
  // `timeout`.
  if (checkpoints_.has_files() && phase_ == Phase::kOver && over_.ok()) return;
  link_.Finish(timeout);
}

void Node::Accept() {
  acceptor_.async_accept([this](const asio::error_code& error, LocalSocket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      OnAccepted(std::move(socket));
      Accept();
      return;
    }
    options_.logger.Warning(absl::StrCat("cannot accept a worker: ", error.message()));
    // Out of descriptors, most likely: a moment's pause keeps this from spinning.
    constexpr auto kPause = std::chrono::milliseconds(100);
    auto timer = std::make_shared<asio::steady_timer>(context_, kPause);
    timer->async_wait([this, timer](const asio::error_code& stopped) {
      if (!stopped && acceptor_.is_open()) Accept();
    });
  });
}

void Node::OnAccepted(LocalSocket socket) {
  auto connection = std::make_shared<WorkerConnection>(std::move(socket));
  const absl::StatusOr<int> pid = connection->PeerPid();
  if (!pid.ok()) {
    options_.logger.Warning(absl::StrCat("dropped a connection: ", pid.status().message()));
    return;
  }
  const uint64_t id = ++last_id_;
  auto [entry, inserted] =
      workers_.emplace(id, Worker{connection, *pid, State::kConnected, Incarnation{}, -1, nullptr,
                                  0, asio::posix::stream_descriptor(context_),
                                  asio::steady_timer(context_), std::nullopt, false, std::nullopt});
  idle_timer_.cancel();
  OpenProcess(entry->second);
  if (!options_.supervised) WatchProcess(id, entry->second);
  connection->Start(
      {.message = [this, id](Message message) { OnWorkerMessage(id, std::move(message)); },
       .closed = [this, id](const absl::Status& status) { OnWorkerClosed(id, status); }});
}

void Node::OnWorkerMessage(uint64_t id, Message message) {
  Worker& worker = workers_.at(id);
  if (worker.evicted.has_value()) return;
  if (std::holds_alternative<message::Heartbeat>(message)) return OnWorkerHeartbeat(id);
  if (auto* join = std::get_if<message::Join>(&message)) {
    if (worker.state == State::kConnected || worker.state == State::kReturning) {
      OnJoin(id, std::move(*join));
    } else {
      DropWorker(id, "it joined twice");
    }
    return;
  }
  if (const auto* ordering = std::get_if<message::Ordering>(&message)) {
    OnWorkerOrdering(id, *ordering);
  } else if (const auto* checkpoint = std::get_if<message::Checkpoint>(&message)) {
    OnWorkerCheckpoint(id, *checkpoint);
  } else if (auto* steps = std::get_if<message::Steps>(&message)) {
    OnWorkerSteps(worker, std::move(*steps));
  } else if (std::holds_alternative<message::Leave>(message)) {
    OnLeave(worker);
  } else if (std::holds_alternative<message::Recoverable>(message)) {
    if (worker.state != State::kMember) return;
    worker.recoverable = true;
    link_.Send(message::Recoverable{worker.incarnation});
  } else if (const auto* fault = std::get_if<message::FaultPerformed>(&message)) {
    OnFaultPerformed(id, *fault);
  } else if (std::holds_alternative<message::Finished>(message)) {
    if (worker.state == State::kMember) link_.Send(message::Finished{worker.incarnation});
  } else if (auto* ask = std::get_if<message::AskCommunicatorIds>(&message);
             ask != nullptr && IsAwaited(worker)) {
    // One whose view was revoked meanwhile asks for nothing any more.
    if (worker.state != State::kMember) return;
    ask->incarnation = worker.incarnation;
    link_.Send(*ask);
  } else if (const auto* question = std::get_if<message::AskStatus>(&message)) {
    OnAskStatus(id, *question);
  } else {
    DropWorker(id, absl::StrCat("it sent ", NameOf(message)));
  }
}

// Anybody who can connect is of our user, and may ask without being a worker.
void Node::OnAskStatus(uint64_t id, const message::AskStatus& ask) {
  Worker& worker = workers_.at(id);
  worker.question = ask.question;
  if (!coordinator_lost_) {
    link_.Send(message::AskStatus{ask.version, id, ask.timeout_ms});
  } else if (worker.connection != nullptr) {
    // The same that the coordinator's last answer would have been.
    worker.connection->Send(
        message::JobStatus{ask.question, R"({"error":"the job is over on this node"})"});
  }
}

void Node::OnJobStatus(const message::JobStatus& status) {
  const auto found = workers_.find(status.question);
  if (found == workers_.end() || found->second.connection == nullptr) return;
  found->second.connection->Send(message::JobStatus{found->second.question, status.json});
}

void Node::OnLeave(Worker& worker) {
  if (!IsAwaited(worker)) return;
  worker.state = State::kNone;
  SayAlways(message::Leave{worker.incarnation});
}

void Node::OnJoin(uint64_t id, message::Join join) {
  joins_seen_ = true;
  Worker& worker = workers_.at(id);
  if (join.has_segment) {
    std::optional<Fd> segment = worker.connection->TakeFd();
    if (!segment.has_value()) {
      DropWorker(id, "it announced a segment and sent none");
      return;
    }
    worker.segment = std::make_shared<const Fd>(*std::move(segment));
  }
  if (phase_ == Phase::kOver) {
    Refuse(worker, over_.ok() ? absl::UnavailableError("the job is over already") : over_);
    return;
  }
  if (worker.state == State::kReturning && join.member.incarnation != worker.incarnation) {
    DropWorker(id, "it joined again as somebody else");
    return;
  }
  for (const auto& [other_id, other] : workers_) {
    if (other_id != id && other.state != State::kConnected &&
        other.incarnation == join.member.incarnation) {
      Refuse(worker, absl::InvalidArgumentError("a process joins only once"));
      return;
    }
  }
  if (join.member.incarnation == Incarnation{0}) {
    Refuse(worker, absl::InvalidArgumentError("an incarnation is never 0"));
    return;
  }
  worker.incarnation = join.member.incarnation;
  worker.state = State::kJoining;
  join.member.pid = worker.pid;
  if (join.spare && joined_spares_.insert(worker.pid).second && spares_to_come_ > 0) {
    --spares_to_come_;
  }
  link_.Send(join);
  worker.join = std::move(join);
}

void Node::Refuse(Worker& worker, const absl::Status& status) {
  worker.state = State::kNone;
  worker.segment.reset();
  if (worker.connection != nullptr) {
    worker.connection->Send(message::Refused{worker.incarnation, status});
  }
}

void Node::DropWorker(uint64_t id, const std::string& why) {
  Worker& worker = workers_.at(id);
  options_.logger.Warning(absl::StrCat("dropped pid ", worker.pid, ": ", why));
  ReportLost(worker, absl::StrCat("was dropped by its agent: ", why));
  worker.connection->Close();
  Forget(id);
}

void Node::OnWorkerClosed(uint64_t id, const absl::Status& status) {
  Worker& worker = workers_.at(id);
  if (!status.ok()) {
    options_.logger.Warning(absl::StrCat("dropped pid ", worker.pid, ": ", status.message()));
    ReportLost(worker, absl::StrCat("was dropped by its agent: ", status.message()));
  }
  worker.connection.reset();
  const auto known = exits_.find(worker.pid);
  if (known != exits_.end()) {
    ReportLost(worker, known->second);
    exits_.erase(known);
  }
  if (!IsAwaited(worker)) {
    Forget(id);
    return;
  }
  if (options_.supervised) {
    worker.exit_timer.expires_after(kExitWait);
    worker.exit_timer.async_wait([this, id](const asio::error_code& error) {
      if (!error) OnProcessEnded(id, "closed its connection without leaving the job");
    });
    return;
  }
  ReportLost(worker, "ended without leaving the job");
  Forget(id);
}

void Node::OnProcessEnded(uint64_t id, const std::string& how) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  // What it said at the very end counts; the connection may close on the way.
  if (found->second.connection != nullptr) found->second.connection->Drain();
  found = workers_.find(id);
  if (found == workers_.end()) return;
  ReportLost(found->second, how);
  if (found->second.connection != nullptr) found->second.connection->Close();
  Forget(id);
}

bool Node::WorkerExited(pid_t pid, const std::string& how) {
  std::vector<uint64_t> ids;
  for (const auto& [id, worker] : workers_) {
    if (worker.pid == pid) ids.push_back(id);
  }
  const bool was_told = lost_pids_.count(pid) > 0;
  if (ids.empty() && !was_told && exits_.size() < kMostExits) exits_[pid] = how;
  for (const uint64_t id : ids) OnProcessEnded(id, how);
  return lost_pids_.erase(pid) > 0;
}

void Node::ReportLost(Worker& worker, const std::string& how) {
  if (IsAwaited(worker)) {
    SayAlways(message::MemberLost{worker.incarnation, worker.evicted.value_or(how)});
    if (options_.supervised) lost_pids_.insert(worker.pid);
  }
  worker.state = State::kNone;
}

bool Node::IsAwaited(const Worker& worker) {
  switch (worker.state) {
    case State::kConnected:
    case State::kNone:
      return false;
    case State::kJoining:
    case State::kMember:
    case State::kReturning:
    case State::kSpare:
      return true;
  }
  return false;
}

void Node::Forget(uint64_t id) {
  checkpoints_.ForgetWorker(id);
  watch_.Forget(id);
  workers_.erase(id);
  CheckDeserted();
}

void Node::CheckDeserted() {
  if (options_.supervised || deserted_ || !workers_.empty()) return;
  // A job that failed before anybody asked has still to be told of.
  if (phase_ == Phase::kOver && (over_.ok() || joins_seen_)) {
    deserted_ = true;
    events_->OnDeserted();
    return;
  }
  idle_timer_.expires_after(options_.idle_timeout);
  idle_timer_.async_wait([this](const asio::error_code& error) {
    if (error || deserted_ || !workers_.empty()) return;
    deserted_ = true;
    events_->OnDeserted();
  });
}

}  // namespace phalanx::control
