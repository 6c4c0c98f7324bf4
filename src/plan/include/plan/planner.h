// From a collective and a group to a plan. Pure: the same arguments give the same plan, always and
// everywhere, and no argument is a local fact.
#ifndef PHALANX_PLAN_PLANNER_H_
#define PHALANX_PLAN_PLANNER_H_

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

// INVALID_ARGUMENT for a collective that no member could mean (root out of range, counts of the
// wrong number); the caller has checked buffers and types.
absl::StatusOr<Plan> MakePlan(const Collective& collective, const Group& group);

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_PLANNER_H_
