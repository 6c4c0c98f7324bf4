#include "control_launch/survival.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace phalanx::control {
namespace {

std::string Counted(int count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string LossesOfRanks(int spares, int restarts) {
  if (spares + restarts == 0) return "the loss of no rank";
  std::string text = spares > 0 ? absl::StrCat("the loss of ", Counted(spares, "rank"))
                                : absl::StrCat("the loss of ranks, ", restarts, " on each node");
  if (spares > 0 && restarts > 0) {
    absl::StrAppend(&text, " and ", restarts, " more on each node");
  }
  return text;
}

// A new process can't be started where the node is gone.
std::vector<int> NodesThatMayGo(const JobShape& shape, int spares) {
  std::vector<int> nodes;
  for (size_t node = 0; node < shape.nodes.size(); ++node) {
    const auto& [ranks, own_spares] = shape.nodes[node];
    if (spares - own_spares >= ranks) nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}

std::string LossOfANode(const JobShape& shape, int spares) {
  if (shape.nodes.size() == 1) return "";
  if (shape.replicas < 2) return "; not of a node: there is one copy of each rank's state";
  const std::vector<int> nodes = NodesThatMayGo(shape, spares);
  if (nodes.empty()) return "; not of a node: others haven't as many spares as it has ranks";
  if (nodes.size() == shape.nodes.size()) return ", of any one node";
  return absl::StrCat(nodes.size() == 1 ? ", of node " : ", of one of the nodes ",
                      absl::StrJoin(nodes, ", "));
}

}  // namespace

LossPolicy LossPolicyIn(const std::map<std::string, std::string>& variables) {
  const auto set = variables.find("PHALANX_ON_LOSS");
  return set == variables.end() ? LossPolicy()
                                : LossPolicy::Parse(set->second).value_or(LossPolicy());
}

std::string WhatIsSurvivable(const JobShape& asked) {
  const LossPolicy::Steps policy = asked.on_loss.For(/*can_shrink=*/false);
  JobShape shape = asked;
  if (!policy.restarts) shape.restarts = 0;
  int spares = 0;
  for (JobShape::Node& node : shape.nodes) {
    if (!policy.spares) node.spares = 0;
    spares += node.spares;
  }
  return absl::StrCat("the job survives ", LossesOfRanks(spares, shape.restarts),
                      ", of the coordinator", LossOfANode(shape, spares),
                      "; not the end of this command",
                      shape.in_etcd ? ", nor the loss of etcd's data" : "");
}

}  // namespace phalanx::control
