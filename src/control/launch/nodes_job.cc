#include "control_launch/nodes_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "asio/io_context.hpp"
#include "asio/post.hpp"
#include "base/logger.h"
#include "base/status_macros.h"
#include "control_emulation/emulated_network.h"
#include "control_launch/assignment_text.h"
#include "control_launch/job_coordinator.h"
#include "control_launch/survival.h"
#include "control_protocol/job_settings.h"
#include "control_protocol/launcher_notice.h"
#include "control_supervisor/keeper.h"
#include "control_supervisor/program.h"
#include "control_supervisor/supervisor.h"
#include "link_faults.h"
#include "orders.h"
#include "own_address.h"

namespace phalanx::control {
namespace {

constexpr int kExitFailure = 1;
constexpr int kRemoteShellFailed = 255;
// Beyond the two grace periods that an agent may need for its workers.
constexpr auto kMargin = std::chrono::seconds(2);

std::string Quoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

class NodesJob : private SupervisorEvents {
 public:
  NodesJob(const NodesOptions& options, const NodeAssignment& common)
      : options_(options),
        common_(common),
        host_name_(HostName()),
        logger_(Logger::ToStderr("", LogSeverity::kWarning)) {}

  int Run() {
    const absl::Status status = RunAgents();
    if (status.ok()) return exit_code_;
    logger_.Error(std::string(status.message()));
    return kExitFailure;
  }

 private:
  absl::Status RunAgents();
  absl::Status Emulate();
  void SayTraffic() const;
  // No remote shell is needed.
  bool IsHere(const std::string& host) const {
    return network_ != nullptr || IsThisMachine(host, host_name_);
  }
  absl::StatusOr<std::string> CoordinatorAddress() const;
  absl::StatusOr<SpawnRequest> AgentCommandOn(const std::string& host) const;
  int Replicas() const;
  absl::StatusOr<std::vector<SupervisedWorker>> MakeAgents() const;

  void OnWorkerEnded(int node, pid_t pid, int wait_status) override;
  void HandleNotice(const LauncherNotice& notice);
  void HandleEvicted(int node);
  bool IsLoss(int node, const ProcessEnd& end) const;
  void OnFirstFailure(int node, pid_t pid, const ProcessEnd& end, int others) override;
  void OnEnded(int exit_code) override {
    exit_code_ = exit_code;
    loop_.stop();
  }

  const NodesOptions& options_;
  const NodeAssignment& common_;
  const std::string host_name_;
  const Logger logger_;
  asio::io_context loop_;
  std::unique_ptr<EmulatedNetwork> network_;  // null unless one is wanted
  std::optional<LinkFaults> link_faults_;
  std::unique_ptr<JobCoordinator> coordinator_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<Supervisor> supervisor_;
  std::set<int> evicted_;  // nodes without which the job goes on
  int exit_code_ = kExitFailure;
};

absl::Status NodesJob::RunAgents() {
  if (options_.emulated.has_value()) PHX_RETURN_IF_ERROR(Emulate());
  PHX_ASSIGN_OR_RETURN(const std::string address, CoordinatorAddress());
  Fd socket = network_ == nullptr ? Fd() : network_->TakeSocket();
  PHX_ASSIGN_OR_RETURN(coordinator_,
                       JobCoordinator::Start(address, options_.files, common_, std::move(socket)));
  PHX_ASSIGN_OR_RETURN(keeper_, Keeper::Start());
  SupervisorOptions options;
  PHX_ASSIGN_OR_RETURN(options.workers, MakeAgents());
  // Agents end their workers by themselves and then exit; we insist only if one doesn't.
  options.grace = 2 * common_.grace + kMargin;
  options.hearing = options.grace;
  options.lost_exit_code = kExitLostElsewhere;
  options.replaces = common_.replaces;
  options.logger = logger_;
  options.keeper = keeper_.get();
  options.bystanders.insert(coordinator_->pid());
  supervisor_ = Supervisor::Create(loop_, std::move(options), this);
  PHX_RETURN_IF_ERROR(supervisor_->Start());
  link_faults_.emplace(loop_, network_.get(), logger_);
  coordinator_->OnNotice([this](const LauncherNotice& notice) { HandleNotice(notice); });
  coordinator_->Watch(loop_, logger_, [this](pid_t pid) { supervisor_->AddBystander(pid); });
  loop_.run();
  if (network_ != nullptr) SayTraffic();
  return absl::OkStatus();
}

absl::Status NodesJob::Emulate() {
  PHX_ASSIGN_OR_RETURN(network_,
                       EmulatedNetwork::Make(*options_.emulated, options_.has_link_faults));
  Logger::ToStderr("", LogSeverity::kInfo).Info(DescribeEmulation(*options_.emulated));
  return absl::OkStatus();
}

void NodesJob::SayTraffic() const {
  const absl::StatusOr<std::vector<NodeTraffic>> traffic = network_->ReadTraffic();
  if (!traffic.ok()) return logger_.Warning(std::string(traffic.status().message()));
  for (size_t node = 0; node < traffic->size(); ++node) {
    const NodeTraffic& one = (*traffic)[node];
    Logger::ToStderr("", LogSeverity::kInfo)
        .Info(absl::StrCat("node ", node, ": over its link went ", one.sent_bytes, " bytes out, ",
                           one.received_bytes, " bytes in; ", one.dropped_packets,
                           " packets dropped"));
  }
  if (!options_.has_link_faults) return;
  const absl::StatusOr<uint64_t> lost = network_->ReadLostPackets();
  if (!lost.ok()) return logger_.Warning(std::string(lost.status().message()));
  Logger::ToStderr("", LogSeverity::kInfo)
      .Info(absl::StrCat("faults of the network took ", *lost, " packets"));
}

absl::StatusOr<std::string> NodesJob::CoordinatorAddress() const {
  if (network_ != nullptr) return network_->hub_address();
  if (!options_.address.empty()) return options_.address;
  for (const HostSlots& host : options_.hosts) {
    if (!IsThisMachine(host.host, host_name_)) return OwnAddressTowards(host.host);
  }
  return std::string("127.0.0.1");
}

absl::StatusOr<SpawnRequest> NodesJob::AgentCommandOn(const std::string& host) const {
  SpawnRequest request;
  request.input = ChildInput::kPipe;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    request.environment.push_back(*variable);
  }
  if (IsHere(host)) {
    request.file = ThisCommand();
    request.arguments = {"phalanx", "agent", "--from-launcher"};
    return request;
  }
  const char* path = std::getenv("PATH");
  PHX_ASSIGN_OR_RETURN(request.file, FindUserProgram(options_.remote_shell.at(0),
                                                     path != nullptr ? path : "/usr/bin:/bin", {}));
  request.arguments = options_.remote_shell;
  request.arguments.push_back(host);
  const std::string command =
      options_.remote_command.empty() ? ThisCommand() : options_.remote_command;
  request.arguments.push_back(absl::StrCat("exec ", Quoted(command), " agent --from-launcher"));
  return request;
}

// What the programs will read; they say what is wrong with it.
int NodesJob::Replicas() const {
  const auto set = common_.variables.find("PHALANX_REPLICAS");
  int replicas = 0;
  if (set == common_.variables.end() || !absl::SimpleAtoi(set->second, &replicas) ||
      replicas == 0) {
    return kDefaultReplicas;
  }
  return replicas;
}

absl::StatusOr<std::vector<SupervisedWorker>> NodesJob::MakeAgents() const {
  NodeAssignment assignment = common_;
  assignment.job = coordinator_->job();
  assignment.secret = coordinator_->secret();
  assignment.coordinator = coordinator_->endpoint();
  assignment.world_size = 0;
  for (const HostSlots& host : options_.hosts) assignment.world_size += host.slots;
  assignment.first_rank = 0;
  const int nodes = static_cast<int>(options_.hosts.size());
  JobShape shape{{},
                 common_.restarts,
                 Replicas(),
                 !options_.files.record_url.empty(),
                 LossPolicyIn(common_.variables)};
  std::vector<SupervisedWorker> agents;
  for (const HostSlots& host : options_.hosts) {
    assignment.node = static_cast<int>(agents.size());
    assignment.node_name = host.host;
    // A host that is named more than once stands for as many nodes.
    const auto same =
        std::count_if(options_.hosts.begin(), options_.hosts.end(),
                      [&](const HostSlots& other) { return other.host == host.host; });
    const bool stands_for_one = same > 1 || network_ != nullptr;
    assignment.machine = stands_for_one ? absl::StrCat(host.host, "/", assignment.node) : "";
    assignment.local_world_size = host.slots;
    // One on each in turn, from the first on.
    assignment.spares = common_.spares / nodes + (assignment.node < common_.spares % nodes ? 1 : 0);
    shape.nodes.push_back({host.slots, assignment.spares});
    SupervisedWorker agent;
    agent.rank = assignment.node;
    PHX_ASSIGN_OR_RETURN(agent.request, AgentCommandOn(host.host));
    if (network_ != nullptr) agent.request.place = network_->PlaceOf(assignment.node);
    agent.input = ToText(assignment);
    agents.push_back(std::move(agent));
    assignment.first_rank += host.slots;
  }
  if (common_.replaces) {
    Logger::ToStderr("", LogSeverity::kInfo).Info(WhatIsSurvivable(shape));
  }
  return agents;
}

void NodesJob::HandleNotice(const LauncherNotice& notice) {
  if (const auto* evicted = std::get_if<NodeEvicted>(&notice)) return HandleEvicted(evicted->node);
  link_faults_->Begin(std::get<LinkFaultDue>(notice).fault);
}

// It may be frozen for ever, or come back and find itself refused.
void NodesJob::HandleEvicted(int node) {
  if (node < 0 || static_cast<size_t>(node) >= options_.hosts.size()) return;
  if (evicted_.insert(node).second) supervisor_->OnDispensable(node);
}

// The node, not the job on it.
bool NodesJob::IsLoss(int node, const ProcessEnd& end) const {
  const std::string& host = options_.hosts[static_cast<size_t>(node)].host;
  return end.by_signal || (end.value == kRemoteShellFailed && !IsHere(host));
}

// Its ranks may not have joined, so that the control plane has nothing to tell the other nodes.
void NodesJob::OnWorkerEnded(int node, pid_t pid, int wait_status) {
  if (evicted_.count(node) > 0) return;
  const ProcessEnd end = ProcessEnd::From(wait_status);
  const bool replaces = common_.replaces && !supervisor_->ending();
  if (end.Succeeded()) {
    // The job has come to a good end there, so it has done so without those that were lost.
    if (replaces) supervisor_->OnJobEnded();
  } else if (replaces && IsLoss(node, end)) {
    logger_.Warning(absl::StrCat("node ", node, " (",
                                 options_.hosts[static_cast<size_t>(node)].host,
                                 ") was lost: its agent (pid ", pid, ") ", end.Describe()));
    supervisor_->Tell(kNodeLost);
  } else {
    supervisor_->Tell(kFailureElsewhere);
    // Its agent knows that nobody takes the place of who failed there.
    if (replaces) asio::post(loop_, [this] { supervisor_->OnNotReplaced(); });
  }
}

// An agent that exits with a code of its own has said why.
void NodesJob::OnFirstFailure(int node, pid_t pid, const ProcessEnd& end, int others) {
  const std::string& host = options_.hosts[static_cast<size_t>(node)].host;
  const char* ending = others > 0 ? "; ending the job" : "";
  if (end.by_signal) {
    logger_.Error(absl::StrCat("node ", node, " (", host, ") was lost: its agent (pid ", pid, ") ",
                               end.Describe(), ending));
  } else if (end.value == kRemoteShellFailed && !IsHere(host)) {
    logger_.Error(absl::StrCat("node ", node, " (", host, ") was lost or can't be reached: `",
                               absl::StrJoin(options_.remote_shell, " "), " ", host, "` (pid ", pid,
                               ") ", end.Describe(), ending));
  }
}

}  // namespace

int RunNodesJob(const NodesOptions& options, const NodeAssignment& common) {
  return NodesJob(options, common).Run();
}

}  // namespace phalanx::control
