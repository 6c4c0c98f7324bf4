// The core's part for views after the first: spares, who takes a lost rank, who is ready again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control_coordinator/core.h"
#include "durations.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kCopiesRepeat = std::chrono::seconds(1);

}  // namespace

void CoordinatorCore::AddSpare(AgentId agent, const message::Join& join) {
  MemberRecord record{join.member, agent};
  record.member.node = agents_.at(agent).node;
  record.recoverable = true;
  record.is_new = TakesPlaceAsNew(agent);
  ForgetSpareToCome(agent);
  spares_.push_back(std::move(record));
  Log(LogSeverity::kInfo, absl::StrCat("a spare joined: ", Describe(spares_.back())));
  Send(agent, message::SpareAccepted{join.member.incarnation});
  if (all_finished_) Send(agent, message::AllFinished{epoch_});
  FillVacancies();
}

void CoordinatorCore::OnRecoverable(AgentId agent, const message::Recoverable& recoverable) {
  const auto found = members_.find(recoverable.incarnation.value);
  if (found != members_.end() && found->second.agent == agent) found->second.recoverable = true;
}

void CoordinatorCore::OnFinished(AgentId agent, const message::Finished& finished) {
  if (phase_ != Phase::kRunning || all_finished_) return;  // said before it could know
  const auto found = members_.find(finished.incarnation.value);
  if (found == members_.end() || found->second.agent != agent) return;
  found->second.finished = true;
  all_finished_ = std::all_of(members_.begin(), members_.end(),
                              [](const auto& member) { return member.second.finished; });
  if (all_finished_) WriteFirst(Afterwards::kAnnounceFinished);
}

// Of whoever is lost nothing is wanted.
bool CoordinatorCore::CanGoOnWithout(const std::set<uint64_t>& incarnations) const {
  return !all_finished_ && std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
    const MemberRecord& record = member.second;
    const bool is_lost = agents_.count(record.agent) == 0;  // with its agent
    return incarnations.count(member.first) > 0 ||
           (!record.left && (record.recoverable || is_lost));
  });
}

bool CoordinatorCore::CanRecoverWithout(const std::set<uint64_t>& incarnations) const {
  return SparesWithout(incarnations) >= 0 && CanGoOnWithout(incarnations);
}

// Where a process was lost another is started, if its launcher does that: the next spare, or, where
// there is none, the one that takes the place.
void CoordinatorCore::StartAnother(const MemberRecord& lost) {
  if (!lost.restarted) StartSpareAt(lost.agent, lost.member.incarnation);
}

// While a job may still need one.
bool CoordinatorCore::CanStartAnother() const {
  return !all_finished_ &&
         (phase_ == Phase::kJoining || phase_ == Phase::kRunning || phase_ == Phase::kRecovering);
}

// It has come, or never will.
void CoordinatorCore::ForgetSpareToCome(AgentId agent) {
  int& to_come = agents_.at(agent).spares_to_come;
  to_come = std::max(to_come - 1, 0);
}

void CoordinatorCore::StartSpareAt(AgentId agent, Incarnation lost) {
  const auto found = agents_.find(agent);
  if (found == agents_.end() || found->second.restarts_left == 0 || !CanStartAnother() ||
      !Policy().restarts) {
    return;
  }
  --found->second.restarts_left;
  ++found->second.spares_to_come;
  Send(agent, message::StartSpare{lost});
}

void CoordinatorCore::OnSpareGone(AgentId agent, const message::SpareGone& gone) {
  ForgetSpareToCome(agent);
  const std::string line =
      absl::StrCat("a spare on ", DescribeNode(agent), " ", gone.how, " before it joined");
  Log(LogSeverity::kWarning, line);
  StartSpareAt(agent, Incarnation{0});
  FailIfNoSpareLeft(line);
}

void CoordinatorCore::FailIfNoSpareLeft(absl::string_view why) {
  FillVacancies();  // what isn't to come any more isn't waited for
  const bool waits = phase_ == Phase::kJoining || phase_ == Phase::kRecovering;
  if (!waits || vacant_.empty() || SparesLeft() >= 0 || !awaited_nodes_.empty()) return;
  const absl::Status reason = absl::UnavailableError(
      absl::StrCat(why, "; no spare is left for rank ", vacant_.front().member.rank));
  return phase_ == Phase::kJoining ? FailJoining(reason) : FailRecovery(reason);
}

void CoordinatorCore::PromoteSpare(const MemberRecord& lost) {
  const auto chosen = ChooseSpare(lost);
  if (chosen == spares_.end()) {
    vacant_.push_back(lost);
    Log(LogSeverity::kWarning,
        absl::StrCat("waiting for a spare that takes the place of rank ", lost.member.rank));
    return;
  }
  MemberRecord record = std::move(*chosen);
  spares_.erase(chosen);
  record.member.rank = lost.member.rank;
  Log(LogSeverity::kWarning,
      absl::StrCat("a spare takes the place of rank ", lost.member.rank, ": pid ",
                   record.member.pid, " on ", DescribeNode(record.agent)));
  arrivals_.push_back(record.member.incarnation.value);
  members_.emplace(record.member.incarnation.value, std::move(record));
}

void CoordinatorCore::BeginRecovery(const MemberRecord& lost, const absl::Status& reason) {
  Revoke(reason);
  PromoteSpare(lost);
  BeginViewIfReady();
}

void CoordinatorCore::Revoke(const absl::Status& reason) {
  phase_ = Phase::kRecovering;
  revoked_at_ = now_;
  copies_lost_at_ = now_;
  ordering_.reset();
  checkpoints_.EndView();
  for (auto& [incarnation, record] : members_) record.ready = false;
  Broadcast(message::Revoked{epoch_, reason, /*goes_on=*/true});
  if (!SuffersAt(faults::Point::kRevoked)) AskWhereAllStand();
}

void CoordinatorCore::LoseWhileRecovering(const MemberRecord& lost, const absl::Status& reason) {
  StartAnother(lost);
  if (!CanReplace(lost) && awaited_nodes_.empty()) {
    return FailRecovery(
        absl::Status(reason.code(), absl::StrCat(reason.message(), "; no spare is left")));
  }
  AskWhereAllStand();
  PromoteSpare(lost);
  BeginViewIfReady();
}

void CoordinatorCore::FailRecovery(const absl::Status& reason) {
  Log(LogSeverity::kError, absl::StrCat("the job can't go on: ", reason.message()));
  FailRunning(reason);
}

void CoordinatorCore::BeginCheckpoints() {
  // By node and not as they came, so that another coordinator places the copies where they are.
  std::map<int, JobCheckpoints::Agent> by_node;
  for (const auto& [id, record] : agents_) {
    by_node[record.node] = {static_cast<checkpoint::AgentId>(id.value), DescribeNode(id),
                            record.machine, record.peers};
  }
  std::vector<JobCheckpoints::Agent> agents;
  for (auto& [node, agent] : by_node) agents.push_back(std::move(agent));
  std::vector<checkpoint::AgentId> owners(static_cast<size_t>(world_size_));
  for (const auto& [incarnation, record] : members_) {
    owners[static_cast<size_t>(record.member.rank)] =
        static_cast<checkpoint::AgentId>(record.agent.value);
  }
  const int asked = job_settings_.replicas;
  PassOn(checkpoints_.BeginView(epoch_, std::move(agents), std::move(owners),
                                {asked > 0 ? asked : kDefaultReplicas, asked > 0},
                                !job_settings_.live || steps_.rolls_back()));
}

void CoordinatorCore::RepeatCopies() {
  if (now_ < copies_repeated_ + kCopiesRepeat) return;
  copies_repeated_ = now_;
  PassOn(checkpoints_.Again());
}

void CoordinatorCore::OnCheckpoint(AgentId agent, const message::Checkpoint& message) {
  // Otherwise said before it could know.
  if (phase_ != Phase::kRunning && phase_ != Phase::kStoring) return;
  JobCheckpoints::Outputs outputs;
  const absl::Status status = checkpoints_.FromAgent(static_cast<checkpoint::AgentId>(agent.value),
                                                     message.payload, &outputs);
  if (status.ok()) {
    PassOn(std::move(outputs));
    EndIfStored();
  } else {
    DropAgent(agent, std::string(status.message()));
  }
}

void CoordinatorCore::PassOn(JobCheckpoints::Outputs outputs) {
  if (outputs.restored.has_value()) TellOfRestored(outputs);
  for (JobEvent& event : outputs.events) Tell(std::move(event));
  for (std::string& line : outputs.lines) Log(LogSeverity::kWarning, std::move(line));
  for (JobCheckpoints::ToAgent& message : outputs.messages) {
    Send(AgentId{static_cast<uint64_t>(message.agent)},
         message::Checkpoint{std::move(message.payload), 0});
  }
  if (checkpoints_.newest() != checkpoint::kInitialVersion) {
    if (outputs.restoring) SuffersAt(faults::Point::kRestoring);
    if (outputs.restored.has_value()) SuffersAt(faults::Point::kRestored);
  }
  if (outputs.writes && !SuffersAt(faults::Point::kStored)) WriteFirst(Afterwards::kCheckpoint);
  if (outputs.healthy_copies.has_value()) {
    Log(LogSeverity::kWarning,
        absl::StrCat("healthy again: every shard has ", *outputs.healthy_copies, " copies, ",
                     Milliseconds(now_ - copies_lost_at_), " after the loss was known (",
                     outputs.bytes_copied, " bytes copied)"));
  }
  if (outputs.restored.has_value() && job_settings_.live) {
    PassOn(steps_.Restored(outputs.restored->version, now_));
  }
  if (!outputs.lost.ok()) FailRecovery(outputs.lost);
}

// A member of the revoked view joins again. False: it isn't that.
bool CoordinatorCore::Return(AgentId agent, const message::Join& join) {
  const auto found = members_.find(join.member.incarnation.value);
  if (phase_ != Phase::kRecovering || found == members_.end() || found->second.ready ||
      found->second.evicted || found->second.agent != agent) {
    return false;
  }
  MemberRecord& record = found->second;
  record.member.addresses = join.member.addresses;
  record.ready = true;
  // A spare that our predecessor promoted had been announced again.
  if (join.spare) {
    ForgetSpareToCome(agent);
    FailIfNoSpareLeft("a spare has a rank already");
    if (phase_ != Phase::kRecovering) return true;
  }
  BeginViewIfReady();
  return true;
}

void CoordinatorCore::BeginViewIfReady() {
  const bool all_ready = std::all_of(members_.begin(), members_.end(),
                                     [](const auto& member) { return member.second.ready; });
  if (!all_ready || !vacant_.empty() || !awaited_nodes_.empty()) return;
  BeginView();
}

void CoordinatorCore::TellOfNextView() {
  returned_at_ = now_;
  Log(LogSeverity::kWarning,
      absl::StrCat("epoch ", epoch_.value, " begins, ", Milliseconds(returned_at_ - revoked_at_),
                   revoked_at_ == resumed_at_ ? " after the coordinator was back; "
                                              : " after the loss was known; ",
                   spares_.size(), spares_.size() == 1 ? " spare is left" : " spares are left"));
}

// "Recovered" in the sense of a program that restores its state.
void CoordinatorCore::TellOfRestored(const JobCheckpoints::Outputs& outputs) {
  if (epoch_ == Epoch{1}) return;
  Tell({"recovered",
        {{"epoch", static_cast<int64_t>(epoch_.value)},
         {"step", outputs.restored->version + 1},
         {"bytes", static_cast<int64_t>(outputs.bytes_restored)},
         {"total_us", Microseconds(now_ - revoked_at_)},
         {"returned_us", Microseconds(returned_at_ - revoked_at_)},
         {"restored_us", Microseconds(now_ - returned_at_)}}});
  Log(LogSeverity::kWarning,
      absl::StrCat("recovered in ", Milliseconds(now_ - revoked_at_),
                   ": all ranks go on from step ", outputs.restored->version + 1,
                   " (ranks came back in ", Milliseconds(returned_at_ - revoked_at_), ", ",
                   outputs.bytes_restored, " bytes restored in ", Milliseconds(now_ - returned_at_),
                   ")"));
}

void CoordinatorCore::CheckRecoveryDeadline() {
  if (now_ < revoked_at_ + settings_.join_timeout) return;
  std::vector<std::string> awaited;
  for (const auto& [incarnation, record] : members_) {
    if (!record.ready) awaited.push_back(Describe(record));
  }
  for (const MemberRecord& lost : vacant_) {
    awaited.push_back(absl::StrCat("a spare for rank ", lost.member.rank));
  }
  FailRecovery(absl::DeadlineExceededError(
      absl::StrCat("not all ranks came back after a loss: ", absl::StrJoin(awaited, ", "))));
}

}  // namespace phalanx::control
