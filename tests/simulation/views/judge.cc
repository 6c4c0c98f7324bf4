// What must hold, checked at everything that the coordinator says.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "world.h"

namespace phalanx::control::simulation {

void World::CheckSaid(const Message& message) {
  if (const auto* view = std::get_if<message::View>(&message)) {
    CheckView(*view);
  } else if (const auto* revoked = std::get_if<message::Revoked>(&message)) {
    CheckRevoked(*revoked);
  } else if (std::holds_alternative<message::AllFinished>(message)) {
    if (!disk_.has_value() || !disk_->finished) Violate("the end is heard before it is durable");
    if (!std::exchange(all_finished_, true)) Occur(Moment::kFinished);
  } else if (const auto* evict = std::get_if<message::Evict>(&message)) {
    ++tally_->evicted;
    evicted_.insert(evict->incarnation.value);
  } else if (std::holds_alternative<message::StartSpare>(message)) {
    ++tally_->restarted;
    if (failing_) Violate("a process is started for a job that ends");
    // The first that joins says which it is.
    if (!Policy().restarts && !heard_.empty())
      Violate("a process is started although the policy starts none");
  }
}

void World::CheckView(const message::View& view) {
  std::vector<uint64_t> incarnations;
  for (const message::Member& member : view.members) {
    incarnations.push_back(member.incarnation.value);
    const auto rank = static_cast<int>(incarnations.size()) - 1;
    if (member.rank != rank) Violate(absl::StrCat("rank ", rank, " has no member"));
  }
  const auto [known, is_new] = heard_.emplace(view.epoch.value, std::pair(boot_, incarnations));
  if (known->second != std::pair(boot_, incarnations)) {
    return Violate(absl::StrCat("epoch ", view.epoch.value, " is used again"));
  }
  if (!is_new) return;
  if (std::set(incarnations.begin(), incarnations.end()).size() != incarnations.size()) {
    Violate(absl::StrCat("a member with two ranks in epoch ", view.epoch.value));
  }
  if (heard_.rbegin()->first != view.epoch.value) {
    Violate(absl::StrCat("epoch ", view.epoch.value, " after ", heard_.rbegin()->first));
  }
  if (all_finished_) Violate("a view after the end");
  if (!disk_.has_value() || disk_->view.members != view.members ||
      disk_->view.epoch != view.epoch) {
    Violate(absl::StrCat("epoch ", view.epoch.value, " is heard before it is durable"));
  }
  CheckPlaces(view);
  CheckReplaced(view);
  if (view.epoch != Epoch{1}) ++tally_->views;
  Occur(Moment::kAnnounced);
}

// Nobody's place is given away who lives and can be heard.
void World::CheckPlaces(const message::View& view) {
  for (const message::Member& member : view.members) {
    if (IsEvicted(member.node)) Violate(absl::StrCat("a member on the evicted node ", member.node));
  }
  for (const auto& agent : agents_) {
    const uint64_t id = agent->connection();
    // What a node had that was lost with its connection was told so, and joins as nobody.
    if (cut_[static_cast<size_t>(agent->node())] || IsEvicted(agent->node())) continue;
    if (id == 0 || !connections_.at(id).at_coordinator || connections_.at(id).boot != boot_ ||
        !connections_.at(id).admitted) {
      continue;
    }
    for (const auto& [incarnation, process] : agent->processes()) {
      const bool has_place = process.alive && Agent::IsAwaited(process) && process.rank >= 0 &&
                             process.view != Epoch{};
      const bool was_member = has_place || (process.alive && process.evicted);
      if (was_member &&
          view.members[static_cast<size_t>(process.rank)].incarnation.value != incarnation) {
        Violate(
            absl::StrCat("rank ", process.rank, " is given away while ", incarnation, " lives"));
      }
    }
  }
}

// By whom the policy says.
void World::CheckReplaced(const message::View& view) {
  const std::vector<message::Member> before = std::exchange(last_members_, view.members);
  for (size_t rank = 0; rank < before.size(); ++rank) {
    const message::Member& old = before[rank];
    const message::Member& member = view.members[rank];
    if (old.incarnation == member.incarnation) continue;
    ++tally_->replaced[options_.nodes.front().settings.on_loss.ToText()];
    if (Policy().spares) continue;
    if (!Policy().restarts) Violate(absl::StrCat("rank ", rank, " is replaced against the policy"));
    if (old.node != member.node) {
      Violate(absl::StrCat("rank ", rank, " is started anew on another node"));
    }
  }
}

// Only one that nobody could hear.
void World::CheckEvicted(int node) {
  constexpr Clock::duration kHeardSoon = std::chrono::milliseconds(500);
  ++tally_->nodes_evicted;
  const auto index = static_cast<size_t>(node);
  if (!disk_.has_value() || disk_->evicted_nodes.count(node) == 0) {
    Violate(absl::StrCat("the eviction of node ", node, " is heard before it is durable"));
  }
  const NodeTime& time = *times_[index];
  // Each coordinator that comes says it again.
  const bool was_evicted_before = time_.now() == booted_;
  const bool was_silent =
      time.thaws_at() > Clock::time_point{} && time_.now() < time.thaws_at() + kHeardSoon;
  if (agents_[index]->alive() && !cut_[index] && !was_silent && !was_evicted_before) {
    Violate(absl::StrCat("node ", node, " is evicted although it can be heard"));
  }
}

void World::CheckRevoked(const message::Revoked& revoked) {
  if (revoked.goes_on) {
    if (all_finished_) Violate("a view is revoked after the end");
    if (failing_) Violate("the job goes on after its end");
    Occur(Moment::kRevoked);
  } else if (!std::exchange(failing_, true)) {
    CheckFailed(revoked.reason);
  }
}

bool World::IsWhere(uint64_t incarnation, int node) const {
  const auto index = static_cast<size_t>(node);
  if (index >= agents_.size() || !agents_[index]->alive() || cut_[index]) return false;
  // A coordinator that took over waits for the others for ten seconds.
  if (IsEvicted(node) || (boot_ > 1 && times_[index]->frozen())) return false;
  const auto found = agents_[index]->processes().find(incarnation);
  return found != agents_[index]->processes().end() && found->second.alive &&
         evicted_.count(incarnation) == 0 && found->second.state != Agent::State::kNone;
}

// A job with a view may fail only if there are more lost ranks than spares, or somebody was
// outside of Run, or had finished.
void World::CheckFailed(const absl::Status& reason) {
  if (absl::IsDeadlineExceeded(reason) && !lost_before_view_) {
    return Violate(absl::StrCat("waited for the time-out: ", reason.message()));
  }
  if (lost_before_view_ || outside_of_run_ || forgot_end_ || !disk_.has_value() ||
      disk_->finished || !Policy().spares) {
    return;
  }
  int needed = 0;
  for (const message::Member& member : disk_->view.members) {
    if (!IsWhere(member.incarnation.value, member.node)) ++needed;
  }
  int usable = 0;
  for (const auto& agent : agents_) {
    if (!welcomed_[static_cast<size_t>(agent->node())]) continue;
    for (const auto& [incarnation, process] : agent->processes()) {
      const bool is_member = std::any_of(
          disk_->view.members.begin(), disk_->view.members.end(),
          [id = incarnation](const auto& member) { return member.incarnation.value == id; });
      const bool was_stopped =
          process.stopped || process.stopped_until + std::chrono::seconds(1) > time_.now();
      if (process.spare && !is_member && !was_stopped && IsWhere(incarnation, agent->node())) {
        ++usable;
      }
    }
  }
  if (usable >= needed) {
    Violate(absl::StrCat("the job fails although ", usable, " spares are there for ", needed,
                         " lost ranks: ", reason.message()));
  }
}

void World::CheckOver(const absl::Status& status) {
  if (!status.ok()) return;
  if (!disk_.has_value() || !disk_->finished) Violate("ended well before all ranks had finished");
  time_.After(std::chrono::seconds(1), [this] {
    for (const auto& agent : agents_) {
      const auto node = static_cast<size_t>(agent->node());
      const std::vector<int>& cores = disk_->view.node_cores;
      // One that came late may not have been admitted.
      const bool is_recorded = boot_ == 1 || disk_->late_nodes.count(agent->node()) > 0 ||
                               (node < cores.size() && cores[node] > 0);
      const bool there = is_recorded && agent->alive() && agent->came() && !cut_[node] &&
                         !IsEvicted(agent->node()) && !times_[node]->frozen();
      if (there && !forgot_end_ && !agent->over().ok()) {
        Violate(absl::StrCat("the job ends well, but not on node ", agent->node(), ": ",
                             agent->over().message()));
      }
    }
  });
}

std::string Describe(const Tally& tally) {
  return absl::StrCat(tally.runs, " jobs, ", tally.ended_well, " ended well; ", tally.views,
                      " later views, ", tally.killed, " processes killed, ", tally.stopped,
                      " stopped, ", tally.evicted, " evicted, ", tally.promoted, " promoted, ",
                      tally.restarted, " started anew, ", tally.agents_killed, " agents killed, ",
                      tally.cuts, " connections cut, ", tally.frozen, " nodes frozen, ",
                      tally.nodes_evicted, " evicted, ", tally.crashes, " coordinators crashed, ",
                      tally.unwritten, " records lost; replaced with ",
                      absl::StrJoin(tally.replaced, ", ", absl::PairFormatter(": ")));
}

std::string JudgeSeed(uint64_t seed, Tally* tally) {
  const std::string wrong = World(RandomOptions(seed)).Run(tally);
  if (wrong.empty()) return "";
  return absl::StrCat("seed ", seed, ": ", wrong, "; replay: ./dev sim --views ", seed);
}

}  // namespace phalanx::control::simulation
