// Who belongs to what: communicators' members and ranks' nodes, for one view.
#ifndef PHALANX_ORDERING_ROSTER_H_
#define PHALANX_ORDERING_ROSTER_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "ordering/names.h"

namespace phalanx::ordering {

using Ranks = absl::InlinedVector<int, 8>;

// Filled by the shell from what the job agrees on (the view, and each communicator when it is
// made), before the cores hear of an operation of it. The cores only read.
class Roster {
 public:
  // node_of_rank[rank]; nodes count from 0.
  explicit Roster(std::vector<int> node_of_rank) : node_of_rank_(std::move(node_of_rank)) {
    for (const int node : node_of_rank_) nodes_ = std::max(nodes_, node + 1);
  }

  void Add(CommunicatorId communicator, Ranks members) {
    members_[communicator.value] = std::move(members);
  }

  int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  int nodes() const { return nodes_; }
  int NodeOf(int rank) const { return node_of_rank_[static_cast<size_t>(rank)]; }

  // An unknown communicator is a bug of the shell. Messages to oneself aren't ordered.
  Ranks MembersOf(const Lane& lane) const {
    if (lane.kind == Lane::Kind::kPair) {
      return {lane.source(), lane.destination()};
    }
    const auto found = members_.find(lane.communicator.value);
    PHX_CHECK(found != members_.end());
    return found->second;
  }

  // The nodes of the members, each once, ascending.
  Ranks NodesOf(const Lane& lane) const {
    Ranks nodes;
    for (const int rank : MembersOf(lane)) nodes.push_back(NodeOf(rank));
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  // How many members of the lane are on the node.
  int CountOn(const Lane& lane, int node) const {
    const Ranks members = MembersOf(lane);
    return static_cast<int>(std::count_if(members.begin(), members.end(),
                                          [&](int rank) { return NodeOf(rank) == node; }));
  }

 private:
  std::vector<int> node_of_rank_;
  int nodes_ = 0;
  absl::flat_hash_map<uint16_t, Ranks> members_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_ROSTER_H_
