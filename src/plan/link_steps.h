// Pieces that several of the links' algorithms share.
#ifndef PHALANX_PLAN_LINK_STEPS_H_
#define PHALANX_PLAN_LINK_STEPS_H_

#include <cstdint>
#include <vector>

#include "plan_builder.h"

namespace phalanx::plan {

// Something to reduce or to send, and the step after which it is there.
struct Contribution {
  Operand operand;
  StepIndex ready = kNone;
};

// Rounds for blocks of `longest` elements that travel whole: several messages a block where it is
// long, so that sending, receiving and reducing overlap.
void SetLinkRounds(uint64_t longest, const Limits& limits, PlanBuilder* builder);

// Rounds for a vector that passes through the ranks one behind the other: messages of the smallest
// size that the link carries at full speed, since the last rank begins only when one has come
// through all others.
void SetChainRounds(uint64_t count, const Limits& limits, PlanBuilder* builder);

// The input blocks of a reduce-scatter, multiplied (in scratch blocks) where the operation wants
// it.
std::vector<Contribution> ScaleIntoScratch(PlanBuilder* builder);

// destination = contributions[0] op contributions[1] op …, each of `count` elements, divided at the
// end where the operation wants it; the step that writes the destination follows `before`.
void ReduceInRankOrder(const std::vector<Contribution>& contributions, const Operand& destination,
                       uint64_t count, const std::vector<StepIndex>& before, PlanBuilder* builder);

struct RingReduction {
  StepIndex reduced = kNone;
  // By block: our step after which our own contribution to it isn't needed any more.
  std::vector<StepIndex> last_use;
};
// Every block once around the ring, gathering everyone's contribution, ending at the rank where it
// is the block `own`, in `result`. Uses the messages 0 … size - 2.
RingReduction ReduceAroundRing(const std::vector<Contribution>& work, int own,
                               const Operand& result, PlanBuilder* builder);

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_LINK_STEPS_H_
