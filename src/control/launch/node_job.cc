#include "control_launch/node_job.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "asio/io_context.hpp"
#include "asio/post.hpp"
#include "base/logger.h"
#include "base/status_macros.h"
#include "control_agent/agent.h"
#include "control_launch/job_coordinator.h"
#include "control_launch/survival.h"
#include "control_process/machine.h"
#include "control_supervisor/keeper.h"
#include "control_supervisor/program.h"
#include "control_supervisor/supervisor.h"
#include "control_supervisor/worker_environment.h"
#include "orders.h"

namespace phalanx::control {
namespace {

constexpr int kExitFailure = 1;
// How long the control plane takes, at most, to show that it has told the workers of a loss.
constexpr auto kHearing = std::chrono::seconds(1);
constexpr auto kAgentStop = std::chrono::seconds(1);
// The same for an agent that still writes the job's last checkpoint to files.
constexpr auto kLastCheckpoint = std::chrono::minutes(10);

int ExitCodeOf(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kNotFound) return kExitNotFound;
  if (status.code() == absl::StatusCode::kPermissionDenied) return kExitNotExecutable;
  return kExitFailure;
}

int Fail(const absl::Status& status) {
  Logger::ToStderr("", LogSeverity::kInfo).Error(std::string(status.message()));
  return ExitCodeOf(status);
}

class NodeJob : private SupervisorEvents, private AgentEvents {
 public:
  NodeJob(const NodeAssignment& assignment, const NodeSurroundings& surroundings)
      : assignment_(assignment),
        surroundings_(surroundings),
        logger_(Logger::ToStderr("", LogSeverity::kWarning)) {}

  int Run() {
    const absl::Status status = RunWorkers();
    const bool elsewhere =
        status.ok() && surroundings_.orders_fd >= 0 && supervisor_->lost_elsewhere();
    if (surroundings_.coordinator != nullptr) surroundings_.coordinator->StopWatching();
    // From here on a signal ends us, whatever is still being written.
    supervisor_.reset();
    const bool writes = assignment_.persist.is_on() && status.ok() && exit_code_ == 0;
    if (agent_ != nullptr) agent_->Stop(Deadline::After(writes ? kLastCheckpoint : kAgentStop));
    if (!status.ok()) return Fail(status);
    return elsewhere ? kExitLostElsewhere : exit_code_;
  }

 private:
  absl::Status RunWorkers();
  absl::Status StartAgent();
  void FollowOrders();
  absl::StatusOr<std::string> FindWorkerProgram() const;
  // `spare`: its number among the spares; negative: one that begins with a rank.
  SupervisedWorker MakeWorker(int local_rank, int spare) const;
  void StartSpares();
  void StartSpare(int slot);
  void HandleEndOutside(pid_t pid, int wait_status);
  void HandleLoss(const absl::Status& reason);

  void OnWorkerEnded(int rank, pid_t pid, int wait_status) override {
    const auto slot = slot_of_worker_.find(rank);
    if (slot != slot_of_worker_.end()) {
      free_slots_.push_back(slot->second);
      slot_of_worker_.erase(slot);
    }
    rank_of_ended_[pid] = rank;
    agent_->WorkerExited(pid, wait_status);
    if (rank >= assignment_.world_size) {
      agent_->SpareExited(pid, ProcessEnd::From(wait_status).Describe());
    }
    StartSpares();
  }
  void OnFirstFailure(int rank, pid_t pid, const ProcessEnd& end, int) override {
    const bool alone = assignment_.world_size == 1;
    logger_.Error(absl::StrCat("rank ", rank, " (pid ", pid, ") ", end.Describe(),
                               alone ? "" : "; ending the job"));
  }
  void OnEnded(int exit_code) override {
    exit_code_ = exit_code;
    loop_.stop();
  }

  // These seven come on the agent's thread.
  void OnViewBegan(const std::vector<pid_t>& pids) override {
    asio::post(loop_, [this, pids] {
      has_begun_ = true;
      for (const pid_t pid : pids) supervisor_->OnNeeded(pid);
    });
  }
  void OnRevoked(const absl::Status& reason) override {
    asio::post(loop_, [this, reason] { HandleLoss(reason); });
  }
  void OnJobOver(const absl::Status& status) override {
    if (status.ok()) {
      asio::post(loop_, [this] { supervisor_->OnJobEnded(); });
    } else {
      asio::post(loop_, [this, status] { HandleLoss(status); });
    }
  }
  void OnRecovering() override {
    asio::post(loop_, [this] { supervisor_->OnFailuresSettled(); });
  }
  void OnEvicted(const absl::Status& /*reason*/) override {
    asio::post(loop_, [this] { supervisor_->OnAbandoned(); });
  }
  void OnStartSpare() override {
    asio::post(loop_, [this] {
      ++spares_to_start_;
      StartSpares();
    });
  }
  void OnEndedOutside(pid_t pid, int wait_status) override {
    asio::post(loop_, [this, pid, wait_status] { HandleEndOutside(pid, wait_status); });
  }

  const NodeAssignment& assignment_;
  const NodeSurroundings surroundings_;
  const Logger logger_;
  asio::io_context loop_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Orders> orders_;
  std::unique_ptr<Agent> agent_;
  std::map<pid_t, int> rank_of_ended_;
  std::string worker_file_;
  std::map<int, int> slot_of_worker_;  // local ranks of those that run, by their numbers
  std::deque<int> free_slots_;         // of those that have ended, in that order
  int spares_to_start_ = 0;
  int spares_started_ = 0;
  bool has_begun_ = false;
  int exit_code_ = kExitFailure;
};

absl::Status NodeJob::RunWorkers() {
  PHX_ASSIGN_OR_RETURN(worker_file_, FindWorkerProgram());
  PHX_ASSIGN_OR_RETURN(keeper_, Keeper::Start());  // before there are threads
  PHX_RETURN_IF_ERROR(StartAgent());
  SupervisorOptions options;
  options.grace = assignment_.grace;
  options.hearing = kHearing;
  options.replaces = assignment_.replaces;
  options.stays = true;  // its agent has copies of what others need
  options.logger = logger_;
  options.keeper = keeper_.get();
  JobCoordinator* const coordinator = surroundings_.coordinator;
  if (coordinator != nullptr) options.bystanders.insert(coordinator->pid());
  for (int local_rank = 0; local_rank < assignment_.local_world_size + assignment_.spares;
       ++local_rank) {
    const bool is_spare = local_rank >= assignment_.local_world_size;
    options.workers.push_back(MakeWorker(local_rank, is_spare ? spares_started_++ : -1));
    slot_of_worker_[options.workers.back().rank] = local_rank;
  }
  supervisor_ = Supervisor::Create(loop_, std::move(options), this);
  PHX_RETURN_IF_ERROR(supervisor_->Start());
  if (coordinator != nullptr) {
    coordinator->Watch(loop_, logger_, [this](pid_t pid) { supervisor_->AddBystander(pid); });
  }
  FollowOrders();
  loop_.run();
  return absl::OkStatus();
}

absl::Status NodeJob::StartAgent() {
  AgentOptions options;
  options.job = assignment_.job;
  PHX_ASSIGN_OR_RETURN(options.key, DeriveKey(assignment_.secret));
  options.coordinator = assignment_.coordinator;
  options.node = assignment_.node;
  options.node_name = assignment_.node_name;
  options.cores = UsableCores();
  options.spares = assignment_.spares;
  options.restarts = assignment_.restarts;
  options.machine = assignment_.machine.empty() ? MachineId() : assignment_.machine;
  options.supervised = true;
  options.awaits_successors = true;  // the launcher starts them
  options.persist = assignment_.persist;
  options.replication_bytes_per_second = assignment_.replication_bytes_per_second;
  options.logger = logger_;
  PHX_ASSIGN_OR_RETURN(agent_, Agent::Start(std::move(options), this));
  return absl::OkStatus();
}

void NodeJob::FollowOrders() {
  if (surroundings_.orders_fd < 0) return;
  OrderHandlers handlers;
  handlers.on_signal = [this](int signal) {
    // Of our own node's workers; an agent that the launcher has started doesn't stop with them.
    if (signal == SIGTSTP) agent_->SetPaused(true);
    supervisor_->HandleSignal(signal);
    if (signal == SIGCONT) agent_->SetPaused(false);
  };
  handlers.on_failure_elsewhere = [this] { supervisor_->OnFailureElsewhere(); };
  // Once there was a view, the control plane knows whether the job can do without it.
  handlers.on_node_lost = [this] {
    if (!has_begun_) supervisor_->OnFailureElsewhere();
  };
  handlers.on_end = [this] {
    logger_.Error(
        absl::StrCat(assignment_.node_name, ": the launcher is gone; killing its workers here"));
    supervisor_->OnAbandoned();
  };
  orders_ = std::make_unique<Orders>(loop_, surroundings_.orders_fd, std::move(handlers));
}

void NodeJob::HandleLoss(const absl::Status& reason) {
  if (!supervisor_->ending()) {
    logger_.Error(absl::StrCat("ending the job: ", reason.message()));
  }
  supervisor_->OnLost();
}

// The control plane doesn't know the process, so it replaces nobody.
void NodeJob::HandleEndOutside(pid_t pid, int wait_status) {
  const ProcessEnd end = ProcessEnd::From(wait_status);
  if (!assignment_.replaces || end.Succeeded() || supervisor_->ending()) return;
  const int rank = rank_of_ended_[pid];
  if (rank >= assignment_.world_size) return;  // the coordinator says it
  logger_.Error(absl::StrCat("rank ", rank, " (pid ", pid, ") ", end.Describe(),
                             " outside of the job's view; ending the job"));
  supervisor_->OnNotReplaced();
}

absl::StatusOr<std::string> NodeJob::FindWorkerProgram() const {
  if (assignment_.program.empty()) return absl::InvalidArgumentError("no program to run");
  const char* path = std::getenv("PATH");
  return FindUserProgram(assignment_.program[0],
                         path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin",
                         FoldersBeside(ThisCommand()));
}

// Each in the place of one that has ended, whose loss may be known before its end is.
void NodeJob::StartSpares() {
  while (spares_to_start_ > 0 && !free_slots_.empty()) {
    --spares_to_start_;
    const int slot = free_slots_.front();
    free_slots_.pop_front();
    StartSpare(slot);
  }
}

// With the local rank of the other, which may stand for a device.
void NodeJob::StartSpare(int slot) {
  const SupervisedWorker worker = MakeWorker(slot, spares_started_++);
  const absl::Status status = supervisor_->Add(worker);
  const std::string where = assignment_.local_world_size == assignment_.world_size
                                ? ""
                                : absl::StrCat(" on ", assignment_.node_name);
  if (status.ok()) {
    slot_of_worker_[worker.rank] = slot;
    logger_.Warning(absl::StrCat("started another process: spare ", spares_started_ - 1, where));
    return;
  }
  free_slots_.push_back(slot);
  logger_.Error(absl::StrCat("cannot start another process: ", status.message()));
  agent_->SpareExited(-1, "could not be started");
}

SupervisedWorker NodeJob::MakeWorker(int local_rank, int spare) const {
  WorkerPlace place;
  place.rank = spare < 0 ? assignment_.first_rank + local_rank : -1;
  place.world_size = assignment_.world_size;
  place.local_rank = local_rank;
  place.local_world_size = assignment_.local_world_size;
  place.agent = agent_->socket_name();
  std::map<std::string, std::string> changes = assignment_.variables;
  for (const auto& [name, value] : PlaceVariables(place)) changes[name] = value;
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable) inherited.push_back(*variable);

  SupervisedWorker worker;
  worker.rank = spare < 0 ? place.rank : assignment_.world_size + spare;
  if (assignment_.label) {
    worker.label =
        spare < 0 ? absl::StrCat("[", place.rank, "] ") : absl::StrCat("[spare ", spare, "] ");
  }
  worker.waits = spare >= 0;
  worker.request.file = worker_file_;
  worker.request.arguments = assignment_.program;
  worker.request.environment = ChangeEnvironment(inherited, changes);
  worker.request.folder = assignment_.folder;
  worker.request.input =
      local_rank == 0 && spare < 0 ? surroundings_.first_input : ChildInput::kNothing;
  return worker;
}

}  // namespace

int RunNode(const NodeAssignment& assignment, const NodeSurroundings& surroundings) {
  return NodeJob(assignment, surroundings).Run();
}

int RunLocalJob(NodeAssignment assignment, ChildInput first_input, const JobFiles& files) {
  absl::StatusOr<std::unique_ptr<JobCoordinator>> coordinator =
      JobCoordinator::Start("127.0.0.1", files, assignment);
  if (!coordinator.ok()) return Fail(coordinator.status());
  if (assignment.replaces) {
    JobShape shape{{{assignment.world_size, assignment.spares}}, assignment.restarts};
    shape.in_etcd = !files.record_url.empty();
    shape.on_loss = LossPolicyIn(assignment.variables);
    Logger::ToStderr("", LogSeverity::kInfo).Info(WhatIsSurvivable(shape));
  }
  assignment.job = (*coordinator)->job();
  assignment.secret = (*coordinator)->secret();
  assignment.coordinator = (*coordinator)->endpoint();
  assignment.node_name = HostName();
  NodeSurroundings surroundings;
  surroundings.first_input = first_input;
  surroundings.coordinator = coordinator->get();
  return RunNode(assignment, surroundings);
}

}  // namespace phalanx::control
