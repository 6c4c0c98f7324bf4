// The core's part for faults that the coordinator itself is to suffer, or that it has others suffer
// at a time or at a point of the protocol. Each is in the record before, so that the next
// coordinator doesn't begin it again.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_coordinator/core.h"

namespace phalanx::control {

using faults::Target;

bool CoordinatorCore::SuffersAt(faults::Point point) { return Suffers(faults_.AtPoint(point)); }

// Before the first view there is no record to write it to, and a job whose ranks aren't in Run yet
// doesn't survive what it is to survive.
bool CoordinatorCore::SuffersNow() {
  const bool all_in_run = std::all_of(members_.begin(), members_.end(),
                                      [](const auto& member) { return member.second.recoverable; });
  if (epoch_ == Epoch{} || !all_in_run) return false;
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(now_ - begun_at_);
  return Suffers(faults_.AtTime(elapsed.count()));
}

// What it doesn't live to order, the next one does.
bool CoordinatorCore::Suffers(const std::vector<faults::Due>& due) {
  if (suffers_) return true;
  const auto own = std::find_if(due.begin(), due.end(), [](const faults::Due& one) {
    return one.fault.target.kind == Target::Kind::kCoordinator;
  });
  if (own != due.end()) {
    NoteFault(own->index);
    suffers_ = true;
    WriteFirst(Afterwards::kSuffer);
    return true;
  }
  for (const faults::Due& one : due) {
    NoteFault(one.index);
    OrderFault(one.fault);
  }
  return false;
}

// By a rank, that is; all but a flip and what the network suffers it does to itself.
void CoordinatorCore::OnFaultPerformed(const message::FaultPerformed& performed) {
  const bool is_new = performed_faults_.count(performed.index) == 0;
  NoteFault(performed.index);
  WriteFirst(Afterwards::kNothing);
  if (!is_new || performed.index >= settings_.faults.size()) return;
  const faults::Fault& fault = settings_.faults[performed.index];
  if (fault.action == faults::Action::kFlip || faults::IsOfNetwork(fault)) OrderFault(fault);
}

void CoordinatorCore::OrderFault(const faults::Fault& fault) {
  ordered_faults_.push_back(fault);
  WriteFirst(Afterwards::kOrderFaults);
}

void CoordinatorCore::OrderFaults() {
  for (const faults::Fault& fault : std::exchange(ordered_faults_, {})) {
    if (faults::IsOfNetwork(fault)) {
      outputs_.push_back(LinkFaultDue{faults::ToText(fault)});
      continue;
    }
    const auto [agent, incarnation] = WhoSuffers(fault);
    const std::string text = faults::ToText(fault);
    if (agents_.count(agent) == 0) {
      Log(LogSeverity::kWarning, absl::StrCat("nobody is there to suffer the fault '", text, "'"));
    } else {
      Send(agent, message::Suffer{text, incarnation});
    }
  }
}

// As it is now; no agent: nobody.
std::pair<AgentId, Incarnation> CoordinatorCore::WhoSuffers(const faults::Fault& fault) const {
  const int number = fault.target.number;
  switch (fault.target.kind) {
    case Target::Kind::kRank: {
      if (fault.action == faults::Action::kFlip) {
        const checkpoint::AgentId holder = checkpoints_.HolderOf(number, fault.copy);
        return {AgentId{static_cast<uint64_t>(holder)}, Incarnation{}};
      }
      const MemberRecord* const member = HolderOf(number);
      if (member == nullptr) return {};
      return {member->agent, member->member.incarnation};
    }
    case Target::Kind::kSpare: {
      if (static_cast<size_t>(number) >= spares_.size()) return {};
      const MemberRecord& spare = spares_[static_cast<size_t>(number)];
      return {spare.agent, spare.member.incarnation};
    }
    case Target::Kind::kNode:
    case Target::Kind::kAgent: {
      const auto agent = std::find_if(agents_.begin(), agents_.end(), [&](const auto& entry) {
        return entry.second.node == number;
      });
      return {agent == agents_.end() ? AgentId{} : agent->first, Incarnation{}};
    }
    case Target::Kind::kCoordinator:
    case Target::Kind::kVoter:
    case Target::Kind::kLink:
      return {};
  }
  return {};
}

void CoordinatorCore::NoteFault(uint32_t index) {
  if (performed_faults_.insert(index).second) Tell({"fault", {{"index", index}}});
}

}  // namespace phalanx::control
