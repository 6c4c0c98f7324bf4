// The core's part for the order in which a lost rank is replaced: whether it can be, and by whom.
#include <algorithm>
#include <map>
#include <set>

#include "control_coordinator/core.h"

namespace phalanx::control {

LossPolicy::Steps CoordinatorCore::Policy() const {
  return job_settings_.on_loss.For(/*can_shrink=*/false);
}

// Of those that are there or were announced and aren't frozen, once these and all who are lost or
// evicted already have been replaced. Where a process is lost another may be started. Without what
// `agent` has.
int CoordinatorCore::SparesWithout(const std::set<uint64_t>& incarnations, AgentId agent) const {
  const LossPolicy::Steps policy = Policy();
  // By node, since a new process takes a place of its own node only, unless spares may as well.
  std::map<AgentId, int> left;
  std::map<AgentId, int> to_start;
  for (const auto& [id, record] : agents_) {
    if (id == agent) continue;
    left[id] += policy.spares || policy.restarts ? record.spares_to_come : 0;
    to_start[id] = policy.restarts ? record.restarts_left : 0;
  }
  for (const MemberRecord& spare : spares_) {
    if (spare.silent || spare.agent == agent) continue;
    left[spare.agent] += policy.spares || spare.is_new ? 1 : 0;
  }
  for (const MemberRecord& lost : vacant_) --left[lost.agent];
  for (const auto& [incarnation, record] : members_) {
    if (!record.evicted && incarnations.count(incarnation) == 0) continue;
    if (to_start[record.agent]-- <= 0) --left[record.agent];
  }
  int all = 0;
  int missing = 0;
  for (const auto& [id, count] : left) {
    all += count;
    missing += std::min(count, 0);
  }
  return policy.spares || missing == 0 ? all : missing;
}

// One that is lost by now, and for whom another was started if that is possible.
bool CoordinatorCore::CanReplace(const MemberRecord& lost) const {
  const LossPolicy::Steps policy = Policy();
  if (policy.spares) return SparesWithout({}) > 0;
  return policy.restarts && SparesWithout({}) >= 0 && NewProcessesAt(lost.agent) > 0;
}

// That are there or to come, beyond those for whom a place waits.
int CoordinatorCore::NewProcessesAt(AgentId agent) const {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return 0;
  int processes = found->second.spares_to_come;
  for (const MemberRecord& spare : spares_) {
    processes += spare.agent == agent && spare.is_new && !spare.silent ? 1 : 0;
  }
  for (const MemberRecord& lost : vacant_) processes -= lost.agent == agent ? 1 : 0;
  return processes;
}

// Where new processes come first, the one that comes next takes the place.
bool CoordinatorCore::TakesPlaceAsNew(AgentId agent) const {
  if (!Policy().restarts_first) return false;
  const auto is_here = [agent](const MemberRecord& record) { return record.agent == agent; };
  return std::any_of(vacant_.begin(), vacant_.end(), is_here);
}

// One on the same node is as close to the others as the lost one was.
std::vector<CoordinatorCore::MemberRecord>::iterator CoordinatorCore::ChooseSpare(
    const MemberRecord& lost) {
  const LossPolicy::Steps policy = Policy();
  const auto find = [&](bool here, bool is_new) {
    return std::find_if(spares_.begin(), spares_.end(), [&](const MemberRecord& spare) {
      return !spare.silent && (!here || spare.agent == lost.agent) && (!is_new || spare.is_new);
    });
  };
  if (policy.restarts_first) {
    const auto fresh = find(/*here=*/true, /*is_new=*/true);
    if (fresh != spares_.end()) return fresh;
    const auto agent = agents_.find(lost.agent);
    const bool comes = agent != agents_.end() && agent->second.spares_to_come > 0;
    if (comes || !policy.spares) return spares_.end();
  }
  if (!policy.spares) return spares_.end();
  const auto near = find(/*here=*/true, /*is_new=*/false);
  return near != spares_.end() ? near : find(/*here=*/false, /*is_new=*/false);
}

// Whoever takes a place, it is gone then; who follows in the list may have another choice.
void CoordinatorCore::FillVacancies() {
  if (!CanStartAnother()) return;
  bool filled = false;
  for (size_t i = 0; i < vacant_.size();) {
    if (ChooseSpare(vacant_[i]) == spares_.end()) {
      ++i;
      continue;
    }
    const MemberRecord lost = vacant_[i];
    vacant_.erase(vacant_.begin() + static_cast<std::ptrdiff_t>(i));
    PromoteSpare(lost);
    filled = true;
  }
  if (!filled) return;
  if (phase_ == Phase::kRecovering) BeginViewIfReady();
  if (phase_ == Phase::kJoining && static_cast<int>(members_.size()) == world_size_) BeginView();
}

}  // namespace phalanx::control
