// How each collective's input and output are divided into blocks: the same for every algorithm that
// moves whole shares. (Reductions of a whole vector divide it as they like.)
#ifndef PHALANX_PLAN_LAYOUT_H_
#define PHALANX_PLAN_LAYOUT_H_

#include <cstdint>

#include "plan/collective.h"
#include "plan_builder.h"

namespace phalanx::plan {

// One block where a rank has one share, one per rank where it has all shares. For all-gather with
// counts, input block r is what rank r brings, so that peers can name it too.
void SetLayout(const Collective& collective, PlanBuilder* builder);

// Elements of the longest block.
uint64_t LongestBlock(const Collective& collective);

// The input block that `rank` brings to an all-gather.
Operand ShareOf(const Collective& collective, int rank);

// Our own share, from the input to its place in the output: nothing to do in place.
StepIndex CopyOwnShare(const Collective& collective, PlanBuilder* builder);

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_LAYOUT_H_
