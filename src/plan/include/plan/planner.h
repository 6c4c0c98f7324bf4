// From a collective and a group to a plan. Pure: the same arguments give the same plan, always and
// everywhere, and no argument is a local fact.
#ifndef PHALANX_PLAN_PLANNER_H_
#define PHALANX_PLAN_PLANNER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "plan/collective.h"
#include "plan/plan.h"

namespace phalanx::plan {

// What all members of a communicator know of it.
struct Group {
  int rank = 0;  // whose plan is made
  int size = 1;
  // All members read each other's memory (one node); otherwise they exchange messages over links.
  bool shares_memory = false;
  // More ranks than cores on some node: fewer, larger rounds, since every wait is a context switch.
  bool oversubscribed = false;

  bool operator==(const Group&) const = default;
};

// What a group transport stages at most for one member and operation.
inline constexpr uint64_t kStagedBytes = 64 * 1024;

// Where one algorithm gives way to another, in bytes unless said otherwise. The values are tuned by
// measurement; all members of a job use the same ones.
struct Limits {
  // Shared memory. A member's part of a collective up to here is staged: one wait, no
  // acknowledgement. At most kStagedBytes. Two ranks read no more that way than any other.
  uint64_t staged = 16 * 1024;
  uint64_t staged_by_two = 64 * 1024;
  // The chunk of one block that a round handles: what a round touches stays in the cache.
  uint64_t direct_chunk = 64 * 1024;
  uint64_t direct_chunk_oversubscribed = 128 * 1024;
  uint32_t direct_window = 4;  // rounds

  // Links. Everyone sends everyone everything: least latency, for few ranks; what one of them sends
  // in all.
  uint64_t exchange = 32 * 1024;
  int exchange_ranks = 8;
  int exchange_ranks_oversubscribed = 2;  // every message costs its share of a core
  // All-reduce of vectors up to here exchanges whole vectors with partners at doubling distance.
  uint64_t doubling = 16 * 1024;
  // All-reduce of vectors up to here goes by halving and doubling: as many bytes as around a ring,
  // in fewer and larger messages. Beyond a power of two some ranks send their whole vector twice.
  uint64_t halving = 8 * 1024 * 1024;
  uint64_t halving_folded = 512 * 1024;
  // Other collectives up to here go along a binomial tree, by doubling or in one exchange.
  uint64_t logarithmic = 128 * 1024;
  // A message of a pipelined algorithm. A block is cut in about `link_pieces` messages, no smaller
  // than the first of these and no larger than the second.
  uint64_t link_chunk_least = 128 * 1024;
  uint64_t link_chunk_most = 512 * 1024;
  uint32_t link_pieces = 4;
  uint32_t link_window = 4;  // rounds
  // A message of what goes from rank to rank without a ring: broadcast, reduce, send and receive.
  uint64_t chain_chunk = 256 * 1024;
  uint32_t chain_window = 8;  // rounds

  // Over links, an all-reduce of these adds up every element in one order, whatever its place and
  // the vector's length: floats come to the same bits alone and as a part of something longer.
  static Limits InOneOrder();
};

// INVALID_ARGUMENT for a collective that no member could mean (root or peer out of range, counts of
// the wrong number, more than 2^46 bytes); the caller has checked buffers and types. A send to
// oneself is also refused: the caller joins it with its receive to a copy.
absl::StatusOr<Plan> MakePlan(const Collective& collective, const Group& group,
                              const Limits& limits = Limits());

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_PLANNER_H_
