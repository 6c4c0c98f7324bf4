// Shared memory, large: memory is read where it lies, in rounds, so that what a round touches stays
// in the cache. Every rank raises every acknowledgement in every round, whether it reads or not, so
// that a transport which copies can reuse its windows; they are awaited where memory goes back to
// the caller, at the end.
//
// In place, an output block is written only when its readers as input are done: block b of a vector
// is read by rank b alone, whose publication of the result says so.
#include <vector>

#include "algorithms.h"
#include "layout.h"
#include "plan_builder.h"

namespace phalanx::plan {
namespace {

constexpr int kInputReady = 0;
constexpr int kInputRead = 1;
// Reductions that hand on a result: it is ready when the input has been read.
constexpr int kResultReady = kInputRead;
constexpr int kResultRead = 2;

uint64_t ChunkBytes(const Group& group, const Limits& limits) {
  return group.oversubscribed ? limits.direct_chunk_oversubscribed : limits.direct_chunk;
}

// The input's acknowledgement, when the steps `reads` are done with it, and, if we have published
// ours, the wait for the others'.
void AcknowledgeInput(const std::vector<StepIndex>& reads, bool published, PlanBuilder* builder) {
  const StepIndex raised = builder->Raise(kInputRead, {});
  for (const StepIndex read : reads) builder->AddAfter(raised, read);
  if (published) builder->AwaitAllAtEnd(kInputRead, {});
}

void AllReduce(const Collective& collective, const Group& group, const Limits& limits,
               PlanBuilder* builder) {
  const std::vector<Block> blocks = Split(collective.count, group.size, collective.type);
  builder->SetBlocks(Region::kInput, blocks);
  builder->SetBlocks(Region::kOutput, blocks);
  builder->SetRounds(blocks[0].count, ChunkBytes(group, limits), limits.direct_window);
  const StepIndex published = builder->Publish(Input(0, group.size), kInputReady, kInputRead, {});
  const StepIndex ready = builder->AwaitAll(kInputReady, {published});
  const StepIndex reduced = builder->PullReduce(Output(group.rank), Input(group.rank), {ready});
  builder->Publish(Output(group.rank), kResultReady, kResultRead, {reduced});
  std::vector<StepIndex> pulls;
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder->Peer(distance);
    const StepIndex result = builder->Await(peer, kResultReady, {published});
    pulls.push_back(builder->Pull(peer, Output(peer), Output(peer), {result}));
  }
  const StepIndex raised = builder->Raise(kResultRead, {});
  for (const StepIndex pull : pulls) builder->AddAfter(raised, pull);
  builder->AwaitAllAtEnd(kResultRead, {raised});
}

// Every rank reduces a block; the root, which alone has an output, collects them.
void Reduce(const Collective& collective, const Group& group, const Limits& limits,
            PlanBuilder* builder) {
  const std::vector<Block> blocks = Split(collective.count, group.size, collective.type);
  builder->SetBlocks(Region::kInput, blocks);
  builder->SetBlocks(Region::kOutput, blocks);
  builder->SetRounds(blocks[0].count, ChunkBytes(group, limits), limits.direct_window);
  builder->SetSharedScratch(blocks);
  const bool is_root = group.rank == collective.root;
  const StepIndex published = builder->Publish(Input(0, group.size), kInputReady, kInputRead, {});
  const StepIndex ready = builder->AwaitAll(kInputReady, {published});
  const StepIndex reduced = builder->PullReduce(is_root ? Output(group.rank) : Scratch(group.rank),
                                                Input(group.rank), {ready});
  if (!is_root) {
    builder->Publish(Scratch(group.rank), kResultReady, kResultRead, {reduced});
    builder->Raise(kResultRead, {});
    // In every round: the scratch is used again.
    builder->Await(collective.root, kResultRead, {});
    builder->AwaitAllAtEnd(kInputRead, {});
    return;
  }
  builder->Raise(kResultReady, {reduced});
  std::vector<StepIndex> pulls;
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder->Peer(distance);
    const StepIndex result = builder->Await(peer, kResultReady, {published});
    pulls.push_back(builder->Pull(peer, Output(peer), Scratch(peer), {result}));
  }
  const StepIndex raised = builder->Raise(kResultRead, {});
  for (const StepIndex pull : pulls) builder->AddAfter(raised, pull);
}

void ReduceScatter(const Group& group, PlanBuilder* builder) {
  const StepIndex published = builder->Publish(Input(0, group.size), kInputReady, kInputRead, {});
  const StepIndex ready = builder->AwaitAll(kInputReady, {published});
  const StepIndex reduced = builder->PullReduce(Output(0), Input(group.rank), {ready});
  AcknowledgeInput({reduced}, true, builder);
}

// The steps by which we take what every peer brings for us.
std::vector<StepIndex> PullFromAll(const Collective& collective, PlanBuilder* builder) {
  const bool all_to_all = collective.kind == CollectiveKind::kAllToAll;
  std::vector<StepIndex> pulls;
  for (int distance = 1; distance < builder->size(); ++distance) {
    const int peer = builder->Peer(distance);
    const StepIndex ready = builder->Await(peer, kInputReady, {});
    const Operand source = all_to_all ? Input(builder->rank()) : ShareOf(collective, peer);
    pulls.push_back(builder->Pull(peer, Output(peer), source, {ready}));
  }
  return pulls;
}

void AllToEveryone(const Collective& collective, const Group& group, PlanBuilder* builder) {
  const bool all_to_all = collective.kind == CollectiveKind::kAllToAll;
  const Operand brought = all_to_all ? Input(0, group.size) : ShareOf(collective, group.rank);
  builder->Publish(brought, kInputReady, kInputRead, {});
  CopyOwnShare(collective, builder);
  AcknowledgeInput(PullFromAll(collective, builder), true, builder);
}

void Gather(const Collective& collective, const Group& group, PlanBuilder* builder) {
  if (group.rank == collective.root) {
    CopyOwnShare(collective, builder);
    AcknowledgeInput(PullFromAll(collective, builder), false, builder);
    return;
  }
  builder->Publish(Input(0), kInputReady, kInputRead, {});
  builder->Raise(kInputRead, {});
  builder->AwaitAtEnd(collective.root, kInputRead, {});
}

void FromRoot(const Collective& collective, const Group& group, PlanBuilder* builder) {
  const bool scatter = collective.kind == CollectiveKind::kScatter;
  if (group.rank == collective.root) {
    builder->Publish(scatter ? Input(0, group.size) : Input(0), kInputReady, kInputRead, {});
    CopyOwnShare(collective, builder);
    builder->AwaitAllAtEnd(kInputRead, {});
    return;
  }
  const StepIndex ready = builder->Await(collective.root, kInputReady, {});
  const StepIndex pulled =
      builder->Pull(collective.root, Output(0), Input(scatter ? group.rank : 0), {ready});
  AcknowledgeInput({pulled}, false, builder);
}

}  // namespace

Plan Direct(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("direct", collective, group);
  if (collective.kind != CollectiveKind::kAllReduce && collective.kind != CollectiveKind::kReduce) {
    SetLayout(collective, &builder);
    builder.SetRounds(LongestBlock(collective), ChunkBytes(group, limits), limits.direct_window);
  }
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      AllReduce(collective, group, limits, &builder);
      break;
    case CollectiveKind::kReduce:
      Reduce(collective, group, limits, &builder);
      break;
    case CollectiveKind::kReduceScatter:
      ReduceScatter(group, &builder);
      break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllGatherV:
    case CollectiveKind::kAllToAll:
      AllToEveryone(collective, group, &builder);
      break;
    case CollectiveKind::kGather:
      Gather(collective, group, &builder);
      break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      FromRoot(collective, group, &builder);
      break;
    case CollectiveKind::kAllToAllV:
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kBarrier:
      break;
  }
  return builder.Build();
}

}  // namespace phalanx::plan
