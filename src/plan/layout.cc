#include "layout.h"

#include <algorithm>
#include <vector>

namespace phalanx::plan {
namespace {

std::vector<Block> Zip(const std::vector<uint64_t>& displacements,
                       const std::vector<uint64_t>& counts) {
  std::vector<Block> blocks(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) blocks[i] = Block{displacements[i], counts[i]};
  return blocks;
}

std::vector<Block> AllAtStart(const std::vector<uint64_t>& counts) {
  std::vector<Block> blocks(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) blocks[i] = Block{0, counts[i]};
  return blocks;
}

}  // namespace

void SetLayout(const Collective& collective, PlanBuilder* builder) {
  const std::vector<Block> one = Repeat(collective.count, 1);
  const std::vector<Block> all = Repeat(collective.count, builder->size());
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      builder->SetBlocks(Region::kInput, one);
      builder->SetBlocks(Region::kOutput, one);
      return;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      builder->SetBlocks(Region::kInput, all);
      builder->SetBlocks(Region::kOutput, one);
      return;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      builder->SetBlocks(Region::kInput, one);
      builder->SetBlocks(Region::kOutput, all);
      return;
    case CollectiveKind::kAllGatherV:
      builder->SetBlocks(Region::kInput, AllAtStart(collective.receive_counts));
      builder->SetBlocks(Region::kOutput,
                         Zip(collective.receive_displacements, collective.receive_counts));
      return;
    case CollectiveKind::kAllToAll:
      builder->SetBlocks(Region::kInput, all);
      builder->SetBlocks(Region::kOutput, all);
      return;
    case CollectiveKind::kAllToAllV:
      builder->SetBlocks(Region::kInput,
                         Zip(collective.send_displacements, collective.send_counts));
      builder->SetBlocks(Region::kOutput,
                         Zip(collective.receive_displacements, collective.receive_counts));
      return;
    case CollectiveKind::kSend:
      builder->SetBlocks(Region::kInput, one);
      return;
    case CollectiveKind::kReceive:
      builder->SetBlocks(Region::kOutput, one);
      return;
    case CollectiveKind::kBarrier:
      return;
  }
}

uint64_t LongestBlock(const Collective& collective) {
  uint64_t longest = collective.count;
  if (collective.kind == CollectiveKind::kAllGatherV ||
      collective.kind == CollectiveKind::kAllToAllV) {
    longest = 0;
    for (const uint64_t count : collective.send_counts) longest = std::max(longest, count);
    for (const uint64_t count : collective.receive_counts) longest = std::max(longest, count);
  }
  return longest;
}

Operand ShareOf(const Collective& collective, int rank) {
  return Input(collective.kind == CollectiveKind::kAllGatherV ? rank : 0);
}

StepIndex CopyOwnShare(const Collective& collective, PlanBuilder* builder) {
  const int rank = builder->rank();
  switch (collective.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllGatherV:
    case CollectiveKind::kGather:
      return builder->Copy(Output(rank), ShareOf(collective, rank), {});
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter:
      return builder->Copy(Output(0), Input(rank), {});
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kAllToAllV:
      return builder->Copy(Output(rank), Input(rank), {});
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return builder->Copy(Output(0), Input(0), {});
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kBarrier:
      return kNone;
  }
  return kNone;
}

}  // namespace phalanx::plan
