#include "judge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace phalanx::membership::simulation {

std::string Judge::OnDisk(const VoterState& state, ProposerId life) {
  std::set<VoterId>& by = accepted_by_[state.accepted];
  by.insert(state.id);
  if (!state.record->voters.IsQuorum(by)) return "";
  const uint64_t version = state.record->version;
  committed_[state.accepted] = {version, life};
  if (!by_version_.emplace(version, life).second || life == lives_.back()) return "";
  if (replaces_[life] != lives_.back()) {
    return absl::StrCat("coordinator ", life.value, " replaces ", lives_.back().value,
                        ", but was started for ", replaces_[life].value);
  }
  if (std::find(lives_.begin(), lives_.end(), life) != lives_.end()) {
    return absl::StrCat("coordinator ", life.value, " comes back");
  }
  lives_.push_back(life);
  return "";
}

std::string Judge::Follows(int node, const Lead& lead) {
  const auto found = committed_.find(lead.ballot);
  if (found == committed_.end() || found->second.life != lead.coordinator.life) {
    return absl::StrCat("node ", node, " follows ", lead.coordinator.life.value, " of ballot ",
                        Describe(lead.ballot), ", which isn't committed");
  }
  Node& follower = nodes_[static_cast<size_t>(node)];
  if (lead.ballot < follower.followed) {
    return absl::StrCat("node ", node, " follows ballot ", Describe(lead.ballot), " after ",
                        Describe(follower.followed));
  }
  follower.followed = lead.ballot;
  return "";
}

std::string Judge::TakesOrder(int node, ProposerId life, const Lead& lead) {
  const auto place = std::find(lives_.begin(), lives_.end(), life);
  if (place == lives_.end()) {
    return absl::StrCat("node ", node, " takes an order of ", life.value, ", which claims nothing");
  }
  Node& follower = nodes_[static_cast<size_t>(node)];
  const auto order_of = static_cast<size_t>(place - lives_.begin());
  if (order_of < follower.order_of) {
    return absl::StrCat("node ", node, " takes an order of ", life.value,
                        " after those of a later coordinator");
  }
  follower.order_of = order_of;
  const ProposerId& of_ballot = orders_of_.emplace(lead.ballot, life).first->second;
  if (of_ballot != life) {
    return absl::StrCat("orders of two coordinators under ballot ", Describe(lead.ballot), ": ",
                        of_ballot.value, " and ", life.value);
  }
  return "";
}

std::string Judge::Reached(const std::string& who, uint64_t asker, const VoterSets& voters,
                           int64_t since_ns) const {
  std::set<VoterId> reached;
  const auto answers = answered_.find(asker);
  if (answers != answered_.end()) {
    for (const auto& [voter, answered_ns] : answers->second) {
      if (answered_ns >= since_ns) reached.insert(voter);
    }
  }
  if (voters.IsQuorum(reached)) return "";
  return absl::StrCat(who, " although only ", reached.size(), " voters have answered in time");
}

}  // namespace phalanx::membership::simulation
