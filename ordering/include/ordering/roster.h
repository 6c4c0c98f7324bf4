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

  void Add(CommunicatorId communicator, const Ranks& members) {
    groups_[communicator.value] = MakeGroup(members);
  }

  int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  int nodes() const { return nodes_; }
  int NodeOf(int rank) const { return node_of_rank_[static_cast<size_t>(rank)]; }

  // Of a lane. An unknown communicator is a bug of the shell. Messages to oneself aren't ordered.
  Ranks MembersOf(const Lane& lane) const {
    if (lane.kind == Lane::Kind::kPair) return {lane.source(), lane.destination()};
    return GroupOf(lane).members;
  }
  bool IsMember(const Lane& lane, int rank) const {
    if (lane.kind == Lane::Kind::kPair) return rank == lane.source() || rank == lane.destination();
    const Ranks& members = GroupOf(lane).members;
    return std::binary_search(members.begin(), members.end(), rank);
  }

  // The nodes of the members, each once, ascending.
  Ranks NodesOf(const Lane& lane) const {
    return lane.kind == Lane::Kind::kPair ? MakeGroup(MembersOf(lane)).nodes : GroupOf(lane).nodes;
  }
  size_t NodeCountOf(const Lane& lane) const {
    if (lane.kind != Lane::Kind::kPair) return GroupOf(lane).nodes.size();
    return NodeOf(lane.source()) == NodeOf(lane.destination()) ? 1 : 2;
  }

  // How many members of the lane are on the node.
  int CountOn(const Lane& lane, int node) const {
    if (lane.kind == Lane::Kind::kPair) {
      return (NodeOf(lane.source()) == node ? 1 : 0) + (NodeOf(lane.destination()) == node ? 1 : 0);
    }
    const Group& group = GroupOf(lane);
    const auto found = group.on_node.find(node);
    return found == group.on_node.end() ? 0 : found->second;
  }

 private:
  struct Group {
    Ranks members;  // ascending
    Ranks nodes;
    absl::flat_hash_map<int, int> on_node;
  };

  Group MakeGroup(const Ranks& members) const {
    Group group;
    group.members = members;
    std::sort(group.members.begin(), group.members.end());
    for (const int rank : members) {
      if (++group.on_node[NodeOf(rank)] == 1) group.nodes.push_back(NodeOf(rank));
    }
    std::sort(group.nodes.begin(), group.nodes.end());
    return group;
  }

  const Group& GroupOf(const Lane& lane) const {
    const auto found = groups_.find(lane.communicator.value);
    PHX_CHECK(found != groups_.end());
    return found->second;
  }

  std::vector<int> node_of_rank_;
  int nodes_ = 0;
  absl::flat_hash_map<uint16_t, Group> groups_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_ROSTER_H_
