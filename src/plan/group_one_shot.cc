// Shared memory, small: one publication, one wait, and everyone takes what it needs. Staged inputs
// need no acknowledgement, so nobody waits for its readers.
#include "algorithms.h"
#include "layout.h"
#include "plan_builder.h"

namespace phalanx::plan {
namespace {

constexpr int kInputReady = 0;

// What every peer brings for us goes to its place in our output, once `published` (if any) is done:
// only then may the output be written where it is the input.
void PullFromAll(const Collective& collective, StepIndex published, PlanBuilder* builder) {
  const bool all_to_all = collective.kind == CollectiveKind::kAllToAll;
  for (int distance = 1; distance < builder->size(); ++distance) {
    const int peer = builder->Peer(distance);
    const StepIndex ready = builder->Await(peer, kInputReady, {published});
    const Operand source = all_to_all ? Input(builder->rank()) : ShareOf(collective, peer);
    builder->Pull(peer, Output(peer), source, {ready});
  }
}

void PullFromRoot(const Collective& collective, PlanBuilder* builder) {
  const int root = collective.root;
  const bool scatter = collective.kind == CollectiveKind::kScatter;
  const StepIndex ready = builder->Await(root, kInputReady, {});
  builder->Pull(root, Output(0), Input(scatter ? builder->rank() : 0), {ready});
}

}  // namespace

Plan OneShot(const Collective& collective, const Group& group) {
  PlanBuilder builder("one-shot", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(LongestBlock(collective), kStagedBytes, 1);
  const bool is_root = group.rank == collective.root;
  const int size = group.size;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter: {
      const bool scatter = collective.kind == CollectiveKind::kReduceScatter;
      // The publication is a copy of its own, so the output may be written over the input after it.
      const StepIndex published =
          builder.PublishStaged(scatter ? Input(0, size) : Input(0), kInputReady);
      const StepIndex ready = builder.AwaitAll(kInputReady, {published});
      builder.PullReduce(Output(0), Input(scatter ? group.rank : 0), {ready});
      break;
    }
    case CollectiveKind::kReduce:
      if (is_root) {
        const StepIndex ready = builder.AwaitAll(kInputReady, {});
        builder.PullReduce(Output(0), Input(0), {ready});
      } else {
        builder.PublishStaged(Input(0), kInputReady);
      }
      break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllGatherV:
    case CollectiveKind::kAllToAll: {
      const bool all_to_all = collective.kind == CollectiveKind::kAllToAll;
      const Operand brought = all_to_all ? Input(0, size) : ShareOf(collective, group.rank);
      const StepIndex published = builder.PublishStaged(brought, kInputReady);
      CopyOwnShare(collective, &builder);
      PullFromAll(collective, published, &builder);
      break;
    }
    case CollectiveKind::kGather:
      if (is_root) {
        CopyOwnShare(collective, &builder);
        PullFromAll(collective, kNone, &builder);
      } else {
        builder.PublishStaged(Input(0), kInputReady);
      }
      break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      if (is_root) {
        const bool scatter = collective.kind == CollectiveKind::kScatter;
        builder.PublishStaged(scatter ? Input(0, size) : Input(0), kInputReady);
        CopyOwnShare(collective, &builder);
      } else {
        PullFromRoot(collective, &builder);
      }
      break;
    case CollectiveKind::kAllToAllV:
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kBarrier:
      break;
  }
  return builder.Build();
}

Plan GroupBarrier(const Collective& collective, const Group& group) {
  PlanBuilder builder("raise-and-await", collective, group);
  builder.SetRounds(0, 1, 1);
  const StepIndex raised = builder.Raise(kInputReady, {});
  builder.AwaitAll(kInputReady, {raised});
  return builder.Build();
}

}  // namespace phalanx::plan
