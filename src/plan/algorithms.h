// The algorithms, one function each; the planner chooses. All ranks are at least two and all counts
// at least one element (of somebody), the planner has seen to that.
#ifndef PHALANX_PLAN_ALGORITHMS_H_
#define PHALANX_PLAN_ALGORITHMS_H_

#include "plan/collective.h"
#include "plan/plan.h"
#include "plan/planner.h"

namespace phalanx::plan {

// Shared memory, small: inputs are staged, and whoever needs them reads them.
Plan OneShot(const Collective& collective, const Group& group);
// Shared memory, large: inputs are read where they lie, each rank reducing its own block.
Plan Direct(const Collective& collective, const Group& group, const Limits& limits);
Plan GroupBarrier(const Collective& collective, const Group& group);

// Links: reductions to all.
Plan ExchangeAllReduce(const Collective& collective, const Group& group);
Plan DoublingAllReduce(const Collective& collective, const Group& group);
Plan HalvingDoublingAllReduce(const Collective& collective, const Group& group);
Plan RingAllReduce(const Collective& collective, const Group& group, const Limits& limits);
Plan ExchangeReduceScatter(const Collective& collective, const Group& group);
Plan RingReduceScatter(const Collective& collective, const Group& group, const Limits& limits);

// Links: without a reduction, or to one.
Plan ExchangeAllGather(const Collective& collective, const Group& group);
Plan DoublingAllGather(const Collective& collective, const Group& group);
Plan RingAllGather(const Collective& collective, const Group& group, const Limits& limits);
Plan TreeBroadcast(const Collective& collective, const Group& group);
Plan ChainBroadcast(const Collective& collective, const Group& group, const Limits& limits);
Plan TreeReduce(const Collective& collective, const Group& group);
Plan ChainReduce(const Collective& collective, const Group& group, const Limits& limits);
Plan LinkGather(const Collective& collective, const Group& group, const Limits& limits);
Plan LinkScatter(const Collective& collective, const Group& group, const Limits& limits);
Plan LinkAllToAll(const Collective& collective, const Group& group, const Limits& limits);
Plan SendOrReceive(const Collective& collective, const Group& group, const Limits& limits);
Plan DisseminationBarrier(const Collective& collective, const Group& group);

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_ALGORITHMS_H_
