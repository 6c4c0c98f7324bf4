// Links: reduce to one rank. Only the root has an output; the others work in scratch.
#include <vector>

#include "algorithms.h"
#include "layout.h"
#include "link_steps.h"
#include "plan_builder.h"

namespace phalanx::plan {
namespace {

// Our own vector, multiplied where the operation wants it: into `result`, which we write anyway.
Contribution OwnVector(const Operand& result, PlanBuilder* builder) {
  if (!builder->scales()) return Contribution{Input(0), kNone};
  return Contribution{result, builder->Scale(result, Input(0), {})};
}

}  // namespace

Plan TreeReduce(const Collective& collective, const Group& group) {
  PlanBuilder builder("binomial", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
  builder.SetMessages(1);
  const int place = builder.Wrap(group.rank - collective.root);
  const Operand result = place == 0 ? Output(0) : builder.AddScratch(collective.count);
  Contribution partial = OwnVector(result, &builder);
  int distance = 1;
  for (; distance < group.size && (place & distance) == 0; distance *= 2) {
    if (place + distance >= group.size) continue;
    const int child = builder.Wrap(place + distance + collective.root);
    const Operand received = builder.AddScratch(collective.count);
    const StepIndex arrived = builder.Receive(child, received, 0, {});
    partial = Contribution{
        result, builder.Reduce(result, partial.operand, received, {partial.ready, arrived})};
  }
  if (place == 0) {
    if (builder.divides()) builder.Divide(Output(0), {partial.ready});
  } else {
    const int parent = builder.Wrap(place - distance + collective.root);
    builder.Send(parent, partial.operand, 0, {partial.ready});
  }
  return builder.Build();
}

Plan ChainReduce(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("chain", collective, group);
  SetLayout(collective, &builder);
  SetChainRounds(collective.count, limits, &builder);
  builder.SetMessages(1);
  const int place = builder.Wrap(group.rank - collective.root);
  const Operand result = place == 0 ? Output(0) : builder.AddScratch(collective.count);
  Contribution partial = OwnVector(result, &builder);
  if (place < group.size - 1) {
    const Operand received = builder.AddScratch(collective.count);
    const StepIndex arrived = builder.Receive(builder.Peer(1), received, 0, {});
    partial = Contribution{
        result, builder.Reduce(result, partial.operand, received, {partial.ready, arrived})};
  }
  if (place > 0) {
    builder.Send(builder.Peer(-1), partial.operand, 0, {partial.ready});
  } else if (builder.divides()) {
    builder.Divide(Output(0), {partial.ready});
  }
  return builder.Build();
}

}  // namespace phalanx::plan
