#include "plan/plan.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::plan {

const char* NameOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kAllGatherV:
      return "all_gather_v";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kAllToAllV:
      return "all_to_all_v";
    case CollectiveKind::kSend:
      return "send";
    case CollectiveKind::kReceive:
      return "receive";
    case CollectiveKind::kBarrier:
      return "barrier";
  }
  return "unknown";
}

const char* NameOf(StepKind kind) {
  switch (kind) {
    case StepKind::kSend:
      return "send";
    case StepKind::kReceive:
      return "receive";
    case StepKind::kCopy:
      return "copy";
    case StepKind::kScale:
      return "scale";
    case StepKind::kReduce:
      return "reduce";
    case StepKind::kDivide:
      return "divide";
    case StepKind::kPublish:
      return "publish";
    case StepKind::kRaise:
      return "raise";
    case StepKind::kAwait:
      return "await";
    case StepKind::kPull:
      return "pull";
    case StepKind::kPullReduce:
      return "pull_reduce";
  }
  return "unknown";
}

bool IsGroupStep(StepKind kind) {
  switch (kind) {
    case StepKind::kPublish:
    case StepKind::kRaise:
    case StepKind::kAwait:
    case StepKind::kPull:
    case StepKind::kPullReduce:
      return true;
    case StepKind::kSend:
    case StepKind::kReceive:
    case StepKind::kCopy:
    case StepKind::kScale:
    case StepKind::kReduce:
    case StepKind::kDivide:
      return false;
  }
  return false;
}

bool IsLinkStep(StepKind kind) { return kind == StepKind::kSend || kind == StepKind::kReceive; }

Block Plan::RangeOf(const Operand& operand, uint32_t round) const {
  PHX_CHECK(round < rounds);
  const std::vector<Block>& all = blocks[static_cast<int>(operand.region)];
  PHX_CHECK(operand.blocks > 0);
  PHX_CHECK(size_t{operand.first} + operand.blocks <= all.size());
  const Block& first = all[operand.first];
  if (rounds == 1) {
    Block range = first;
    for (int i = 1; i < operand.blocks; ++i) range.count += all[operand.first + i].count;
    return range;
  }
  const uint64_t done = uint64_t{round} * chunk;
  const uint64_t place = operand.region == Region::kScratch ? (round % window) * chunk : done;
  if (done >= first.count) return Block{first.offset + std::min(place, first.count), 0};
  return Block{first.offset + place, std::min(chunk, first.count - done)};
}

bool Plan::uses_group() const {
  return std::any_of(body.begin(), body.end(),
                     [](const Step& step) { return IsGroupStep(step.kind); });
}

bool Plan::uses_links() const {
  return std::any_of(body.begin(), body.end(),
                     [](const Step& step) { return IsLinkStep(step.kind); });
}

}  // namespace phalanx::plan
