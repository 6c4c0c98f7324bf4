// The core's part for jobs that heal live: who is asked where all stand when a view ends, and what
// the log says of it.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_coordinator/core.h"
#include "durations.h"

namespace phalanx::control {
// Again whenever one of them is lost. Before all nodes have come back to a new coordinator nobody
// knows who lives.
void CoordinatorCore::AskWhereAllStand() {
  if (!job_settings_.live || !awaited_nodes_.empty()) return;
  std::set<int> survivors;
  for (const auto& [incarnation, record] : members_) {
    const int rank = record.member.rank;
    const bool was_there =
        rank >= 0 && static_cast<size_t>(rank) < view_.members.size() &&
        view_.members[static_cast<size_t>(rank)].incarnation.value == incarnation;
    if (was_there && agents_.count(record.agent) > 0) survivors.insert(rank);
  }
  PassOn(steps_.Ask(Epoch{epoch_.value + 1}, world_size_, survivors, now_));
}

// What is restored and what is copied depends on what was decided by now.
void CoordinatorCore::BeginSteps() {
  if (!job_settings_.live) return BeginCheckpoints();
  JobSteps::Outputs outputs = steps_.BeginView(epoch_, world_size_, now_);
  BeginCheckpoints();
  PassOn(std::move(outputs));
}

void CoordinatorCore::OnSteps(AgentId agent, const message::Steps& message) {
  // Otherwise said before it could know.
  if (phase_ != Phase::kRunning && phase_ != Phase::kRecovering) return;
  const MemberRecord* const member = Find(agent, message.incarnation);
  if (member == nullptr || member->member.rank < 0 || !job_settings_.live) return;
  JobSteps::Outputs outputs;
  const absl::Status status = steps_.FromRank(member->member.rank, message.payload, now_, &outputs);
  if (status.ok()) {
    PassOn(std::move(outputs));
  } else {
    DropAgent(agent, std::string(status.message()));
  }
}

void CoordinatorCore::PassOn(JobSteps::Outputs outputs) {
  if (outputs.committed && SuffersAt(faults::Point::kVoted)) return;
  if (outputs.rolls_back) {
    Log(LogSeverity::kWarning,
        "this loss can't be healed live, since no rank that lives has the whole state: all ranks "
        "go back to the newest checkpoint, or to their first state");
  }
  if (outputs.resumed.has_value()) TellOfHealed(*outputs.resumed);
  for (JobSteps::ToRank& message : outputs.messages) {
    const MemberRecord* const holder = HolderOf(message.rank);
    if (holder == nullptr) continue;
    Send(holder->agent, message::Steps{holder->member.incarnation, std::move(message.payload)});
  }
  if (outputs.copies) SuffersAt(faults::Point::kRestoring);
  if (outputs.resumed.has_value() && outputs.resumed->live) SuffersAt(faults::Point::kRestored);
  if (outputs.rolls_back && phase_ == Phase::kRunning) PassOn(checkpoints_.Restore());
}

void CoordinatorCore::TellOfHealed(const JobSteps::Resumed& resumed) {
  if (!resumed.live) return;  // that was told of as a restore
  int64_t bytes = 0;
  std::string copies;
  for (const JobSteps::Copied& copied : resumed.copied) {
    bytes += static_cast<int64_t>(copied.bytes);
    absl::StrAppend(&copies, "; ", copied.bytes, " bytes copied to rank ", copied.rank,
                    " from rank ", copied.from, " in ", Milliseconds(copied.duration));
  }
  Tell({"recovered",
        {{"epoch", static_cast<int64_t>(epoch_.value)},
         {"step", resumed.step},
         {"bytes", bytes},
         {"total_us", Microseconds(now_ - revoked_at_)},
         {"returned_us", Microseconds(returned_at_ - revoked_at_)},
         {"restored_us", Microseconds(now_ - returned_at_)},
         {"live", 1},
         {"recomputed", resumed.recomputed}}});
  Log(LogSeverity::kWarning,
      absl::StrCat("recovered live in ", Milliseconds(now_ - revoked_at_),
                   ": all ranks go on from step ", resumed.step, " (ranks came back in ",
                   Milliseconds(returned_at_ - revoked_at_), copies, ")"));
}

}  // namespace phalanx::control
