// The core's part for the job's record: what is written before it is said, and how a coordinator
// goes on from what it finds there.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_coordinator/core.h"

namespace phalanx::control {
namespace {

// Agents try without pause, so one that lives has come back by then.
constexpr Clock::duration kAgentsReturn = std::chrono::seconds(10);

}  // namespace

JobRecord CoordinatorCore::CurrentRecord() const {
  // What it doesn't live to write isn't written.
  JobRecord record{view_, suffers_ ? checkpoints_.durable() : checkpoints_.record(), all_finished_};
  record.view.performed_faults.assign(performed_faults_.begin(), performed_faults_.end());
  record.late_nodes = late_nodes_;
  record.evicted_nodes = evicted_nodes_;
  return record;
}

// Once for however much of a kind one input brings: what is done then goes by what holds then.
void CoordinatorCore::WriteFirst(Afterwards afterwards) {
  if (std::find(afterwards_.begin(), afterwards_.end(), afterwards) != afterwards_.end()) return;
  afterwards_.push_back(afterwards);
}

void CoordinatorCore::Handle(const RecordWritten& /*written*/) {
  writing_ = false;
  for (const Afterwards afterwards : std::exchange(afterwards_, {})) Perform(afterwards);
}

void CoordinatorCore::Perform(Afterwards afterwards) {
  if (suffers_ && afterwards != Afterwards::kSuffer) return;
  switch (afterwards) {
    case Afterwards::kNothing:
      return;
    case Afterwards::kAnnounceView:
      if (!SuffersAt(faults::Point::kProposed)) AnnounceView();
      return;
    case Afterwards::kAnnounceFinished:
      return Broadcast(message::AllFinished{epoch_});
    case Afterwards::kCheckpoint: {
      JobCheckpoints::Outputs outputs = checkpoints_.RecordWritten();
      const checkpoint::VersionName newest = checkpoints_.newest();
      Tell({"committed",
            {{"version", newest.version}, {"epoch", static_cast<int64_t>(newest.epoch)}}});
      if (!SuffersAt(faults::Point::kCommitted)) PassOn(std::move(outputs));
      return;
    }
    case Afterwards::kTellEvicted:
      return TellEvicted();
    case Afterwards::kAdmitLate:
      return AdmitLate();
    case Afterwards::kOrderFaults:
      return OrderFaults();
    case Afterwards::kSuffer:
      outputs_.push_back(KillCoordinator{});
      return;
  }
}

// Nobody is there yet. Who was lost meanwhile, its agent says.
void CoordinatorCore::Resume(const JobRecord& record) {
  resumed_at_ = now_;
  revoked_at_ = now_;
  copies_lost_at_ = now_;
  phase_ = record.finished ? Phase::kRunning : Phase::kRecovering;
  all_finished_ = record.finished;
  view_ = record.view;
  epoch_ = view_.epoch;
  job_settings_ = view_.settings;
  world_size_ = static_cast<int>(view_.members.size());
  performed_faults_.insert(view_.performed_faults.begin(), view_.performed_faults.end());
  checkpoints_ = JobCheckpoints(record.checkpoints, settings_.persist);
  for (const message::Member& member : view_.members) {
    MemberRecord known{member, AgentId{}};
    known.recoverable = true;
    known.ready = false;
    known.finished = record.finished;
    members_.emplace(member.incarnation.value, std::move(known));
    awaited_nodes_.insert(member.node);
    arrivals_.push_back(member.incarnation.value);
  }
  for (size_t node = 0; node < view_.node_cores.size(); ++node) {
    if (view_.node_cores[node] > 0) awaited_nodes_.insert(static_cast<int>(node));
  }
  late_nodes_ = record.late_nodes;
  awaited_nodes_.insert(late_nodes_.begin(), late_nodes_.end());
  evicted_nodes_ = record.evicted_nodes;
  for (const int node : evicted_nodes_) {
    awaited_nodes_.erase(node);
    outputs_.push_back(NodeEvicted{node});
  }
  Tell({"resumed", {{"epoch", static_cast<int64_t>(epoch_.value)}}});
  Log(LogSeverity::kWarning,
      absl::StrCat("the coordinator is back, with the record of epoch ", epoch_.value));
}

// Neither the view in the record nor the record itself knows of it, so a coordinator that takes
// over wouldn't wait for it to come back.
bool CoordinatorCore::IsLate(int node) const {
  if (phase_ != Phase::kRunning && phase_ != Phase::kRecovering) return false;
  const auto index = static_cast<size_t>(node);
  const bool is_in_view = index < view_.node_cores.size() && view_.node_cores[index] > 0;
  return !is_in_view && late_nodes_.count(node) == 0;
}

void CoordinatorCore::AdmitLate() {
  for (const auto& [agent, hello] : std::exchange(unadmitted_, {})) {
    if (agents_.count(agent) > 0) Admit(agent, hello);
  }
}

// The agent of a node has come, or come back.
void CoordinatorCore::Admit(AgentId agent, const message::AgentHello& hello) {
  const int node = agents_.at(agent).node;
  Send(agent, message::AgentWelcome{node});
  if (hello.returns) {
    for (auto& [incarnation, record] : members_) {
      if (record.member.node == node && record.agent == AgentId{}) record.agent = agent;
    }
    awaited_nodes_.erase(node);
  }
  if (all_finished_) Send(agent, message::AllFinished{epoch_});
  if (phase_ == Phase::kStoring) return Send(agent, message::AllLeft{epoch_});
  GoOnIfAllReturned();
}

// Until then nobody knows which spares there are.
void CoordinatorCore::GoOnIfAllReturned() {
  if (!resumed_at_.has_value() || !awaited_nodes_.empty()) return;
  FailIfNoSpareLeft("all nodes that live have come back");
  if (phase_ == Phase::kRecovering && !steps_.asked()) AskWhereAllStand();
  if (phase_ == Phase::kRecovering) BeginViewIfReady();
  EndIfAllLeft();
}

// Whether there were any. One of them may come yet, and then the job has gone on without it.
bool CoordinatorCore::GiveUpAwaitedNodes() {
  const std::set<int> awaited = std::exchange(awaited_nodes_, {});
  lost_nodes_.insert(awaited.begin(), awaited.end());
  for (const int node : awaited) {
    if (all_finished_ || !evicted_nodes_.insert(node).second) continue;
    evicted_untold_.emplace_back(AgentId{}, node);
    WriteFirst(Afterwards::kTellEvicted);
  }
  return !awaited.empty();
}

// One whose node is evicted doesn't come: its place is given away as soon as there are spares
// again, or all are there who could bring any.
void CoordinatorCore::CheckAgentsReturned() {
  if (!resumed_at_.has_value()) return;
  const bool time_is_up = now_ >= *resumed_at_ + kAgentsReturn;
  std::set<uint64_t> evicted;
  for (const auto& [incarnation, record] : members_) {
    const bool is_there = record.agent != AgentId{};
    if (!is_there && evicted_nodes_.count(record.member.node) > 0) evicted.insert(incarnation);
  }
  const bool replaces =
      phase_ == Phase::kRecovering && (awaited_nodes_.empty() || SparesWithout(evicted) >= 0);
  const bool gives_up = time_is_up && GiveUpAwaitedNodes();
  std::vector<std::pair<uint64_t, absl::Status>> gone;
  for (auto& [incarnation, record] : members_) {
    const bool is_evicted = evicted.count(incarnation) > 0;
    if (record.agent != AgentId{} || !(time_is_up || (is_evicted && replaces))) continue;
    if (phase_ == Phase::kRunning && all_finished_) {
      // It may have heard from our predecessor that all have left.
      record.left = true;
    } else {
      gone.emplace_back(incarnation,
                        Lost(record, is_evicted ? "was evicted with its node"
                                                : "was lost: its agent didn't come back"));
    }
  }
  for (const auto& [incarnation, reason] : gone) {
    if (members_.count(incarnation) > 0) LoseMember(incarnation, reason);
  }
  if (gives_up) GoOnIfAllReturned();
}

}  // namespace phalanx::control
