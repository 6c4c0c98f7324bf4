// Jobs and faults by chance.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "world.h"

namespace phalanx::control::simulation {
namespace {

constexpr const char* kFaultNames[] = {"kill member", "kill spare", "stop",  "kill agent",
                                       "crash",       "cut",        "freeze"};
constexpr const char* kMomentNames[] = {"time", "proposed", "announced", "revoked", "finished"};

constexpr const char* kPolicies[] = {"spare,restart,shrink,fail", "restart,spare,fail",
                                     "spare,fail", "restart,fail", "fail"};

Fault RandomFault(Timeline& chance) {
  constexpr FaultKind kKinds[] = {
      FaultKind::kKillMember, FaultKind::kKillMember, FaultKind::kKillMember, FaultKind::kKillSpare,
      FaultKind::kStop,       FaultKind::kStop,       FaultKind::kKillAgent,  FaultKind::kCrash,
      FaultKind::kCrash,      FaultKind::kCrash};
  Fault fault;
  fault.kind = kKinds[chance.Between(0, std::ssize(kKinds) - 1)];
  if (chance.OneIn(30)) fault.kind = FaultKind::kCut;
  if (chance.OneIn(12)) fault.kind = FaultKind::kFreeze;
  if (chance.OneIn(3)) {
    fault.delay = chance.Up(1'500'000);
    return fault;
  }
  fault.moment = static_cast<Moment>(chance.Between(1, 4));
  if (fault.moment != Moment::kFinished) fault.number = static_cast<int>(chance.Between(1, 3));
  fault.delay = chance.Up(chance.OneIn(2) ? 6'000 : 150'000);
  return fault;
}

}  // namespace

Options RandomOptions(uint64_t seed) {
  Timeline chance(seed * 2 + 1, nullptr);
  Options options;
  options.seed = seed;
  const auto nodes = static_cast<int>(chance.Between(1, 4));
  const auto ranks = static_cast<int>(chance.Between(1, 6));
  options.nodes.resize(static_cast<size_t>(nodes));
  const bool restarts = chance.OneIn(3);
  for (int node = 0; node < nodes; ++node) {
    AgentPlan& plan = options.nodes[static_cast<size_t>(node)];
    plan.node = node;
    plan.world_size = ranks;
    plan.spares = chance.OneIn(2) ? static_cast<int>(chance.Between(1, 2)) : 0;
    if (restarts) plan.restarts = static_cast<int>(chance.Between(0, 2));
    plan.starts_after = chance.Up(chance.OneIn(10) ? 1'500'000 : 20'000);
  }
  // Some nodes may have spares only.
  const int64_t last = chance.OneIn(3) ? std::max(0, nodes - 2) : nodes - 1;
  for (int rank = 0; rank < ranks; ++rank) {
    options.nodes[static_cast<size_t>(chance.Between(0, last))].ranks.push_back(rank);
  }
  for (AgentPlan& plan : options.nodes) {
    if (plan.ranks.empty()) plan.spares = std::max(plan.spares, 1);
  }
  const int64_t faults = chance.OneIn(10) ? 0 : chance.Between(1, 5);
  for (int64_t i = 0; i < faults; ++i) options.faults.push_back(RandomFault(chance));
  // Where it is of no use it only takes time.
  const bool any_freezes =
      std::any_of(options.faults.begin(), options.faults.end(),
                  [](const Fault& fault) { return fault.kind == FaultKind::kFreeze; });
  for (AgentPlan& plan : options.nodes) plan.is_watched = any_freezes;
  // From a chance of its own, so that the rest of a seed's job is what it was without.
  Timeline chance_of_policy(seed * 2, nullptr);
  const auto policy = static_cast<size_t>(
      chance_of_policy.OneIn(2) ? 0 : chance_of_policy.Between(1, std::ssize(kPolicies) - 1));
  for (AgentPlan& plan : options.nodes) {
    plan.settings.on_loss = LossPolicy::Parse(kPolicies[policy]).value();
  }
  return options;
}

std::string Describe(const Options& options) {
  std::string text = absl::StrCat("seed ", options.seed, "\n");
  for (const AgentPlan& plan : options.nodes) {
    absl::StrAppend(&text, "node ", plan.node, ": ranks ", absl::StrJoin(plan.ranks, " "), ", ",
                    plan.spares, " spares, ", plan.restarts, " restarts\n");
  }
  absl::StrAppend(&text, "on a loss: ", options.nodes.front().settings.on_loss.ToText(), "\n");
  for (const Fault& fault : options.faults) {
    absl::StrAppend(&text, "fault: ", kFaultNames[static_cast<size_t>(fault.kind)], " at ",
                    kMomentNames[static_cast<size_t>(fault.moment)], " ", fault.number, " + ",
                    fault.delay / Microseconds(1), " us\n");
  }
  return text;
}

}  // namespace phalanx::control::simulation
