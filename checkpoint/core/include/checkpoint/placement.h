// Which agents hold each rank's shard. Pure: the same view gives the same answer everywhere.
#ifndef PHALANX_CHECKPOINT_PLACEMENT_H_
#define PHALANX_CHECKPOINT_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "checkpoint/version.h"

namespace phalanx::checkpoint {

struct AgentPlace {
  AgentId agent = 0;
  int64_t machine = 0;  // several agents may be on one
  int64_t rack = 0;
};

struct ClusterView {
  std::vector<AgentPlace> agents;  // live ones in any order, spares' included
  std::vector<AgentId> owners;     // by rank; each is one of `agents`
};

struct Placement {
  std::vector<std::vector<AgentId>> holders;  // by rank; the owner first
  int wanted = 0;
  int effective = 0;  // holders of every shard: min(wanted, machines)

  bool degraded() const { return effective < wanted; }
  bool Holds(int rank, AgentId agent) const;
};

// `replicas` counts the owner's copy and is at least 1. No two holders of a shard are on one
// machine. Other racks are preferred while that costs no machine more than twice its even share;
// the load is even within these limits. `view` is correct: an owner that isn't among the agents is
// a bug.
Placement Place(const ClusterView& view, int replicas);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_PLACEMENT_H_
