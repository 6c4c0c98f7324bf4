// One operation of a communicator, as the planner sees it: what all members agree on.
#ifndef PHALANX_PLAN_COLLECTIVE_H_
#define PHALANX_PLAN_COLLECTIVE_H_

#include <cstdint>
#include <vector>

#include "phalanx/types.h"

namespace phalanx::plan {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllGatherV,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kSend,
  kReceive,
  kBarrier,
};

// Lower-case, as in MPI's and NCCL's names: "all_reduce", "reduce_scatter", …
const char* NameOf(CollectiveKind kind);

// Counts are elements, as NCCL defines them: `count` is the whole vector for all-reduce, broadcast,
// reduce, send and receive, and one rank's share for reduce-scatter, all-gather, gather, scatter
// and all-to-all. Blocks follow one another in rank order, without gaps, except where displacements
// say otherwise.
struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  uint64_t count = 0;
  int root = 0;  // broadcast, reduce, gather, scatter
  int peer = 0;  // send, receive
  // kAllGatherV: receive_counts[r] is rank r's share, equal on all members, and
  // receive_displacements[r] its place in this rank's output. kAllToAllV: send_* and receive_* of
  // this rank, indexed by peer.
  std::vector<uint64_t> send_counts;
  std::vector<uint64_t> send_displacements;
  std::vector<uint64_t> receive_counts;
  std::vector<uint64_t> receive_displacements;

  bool operator==(const Collective&) const = default;
};

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_COLLECTIVE_H_
