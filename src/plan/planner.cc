#include "plan/planner.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "algorithms.h"
#include "base/status_macros.h"
#include "layout.h"
#include "plan_builder.h"

namespace phalanx::plan {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

absl::Status Invalid(const Collective& collective, const Group& group, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(collective.kind), " on rank ", group.rank, ": ", what));
}

absl::Status CheckCounts(const Collective& collective, const Group& group) {
  const auto size = static_cast<size_t>(group.size);
  const uint64_t most = kMostBytes / SizeOf(collective.type) / size;
  const bool sends = collective.kind == CollectiveKind::kAllToAllV;
  const bool receives = sends || collective.kind == CollectiveKind::kAllGatherV;
  if (receives && (collective.receive_counts.size() != size ||
                   collective.receive_displacements.size() != size)) {
    return Invalid(collective, group,
                   absl::StrCat(collective.receive_counts.size(), " receive counts and ",
                                collective.receive_displacements.size(), " displacements for ",
                                size, " ranks; give one of each per rank"));
  }
  if (sends &&
      (collective.send_counts.size() != size || collective.send_displacements.size() != size)) {
    return Invalid(collective, group,
                   absl::StrCat(collective.send_counts.size(), " send counts and ",
                                collective.send_displacements.size(), " displacements for ", size,
                                " ranks; give one of each per rank"));
  }
  for (const std::vector<uint64_t>* counts :
       {&collective.send_counts, &collective.send_displacements, &collective.receive_counts,
        &collective.receive_displacements}) {
    for (const uint64_t count : *counts) {
      if (count > most) return Invalid(collective, group, "a count is beyond any memory");
    }
  }
  if (collective.count > most) return Invalid(collective, group, "the count is beyond any memory");
  return absl::OkStatus();
}

absl::Status Check(const Collective& collective, const Group& group) {
  if (group.size < 1 || group.rank < 0 || group.rank >= group.size) {
    return Invalid(collective, group, absl::StrCat("no such rank in a group of ", group.size));
  }
  if (SizeOf(collective.type) == 0) return Invalid(collective, group, "unknown type");
  if (HasRoot(collective.kind) && (collective.root < 0 || collective.root >= group.size)) {
    return Invalid(
        collective, group,
        absl::StrCat("root ", collective.root, " isn't a rank of a group of ", group.size));
  }
  if (collective.kind == CollectiveKind::kSend || collective.kind == CollectiveKind::kReceive) {
    if (collective.peer < 0 || collective.peer >= group.size) {
      return Invalid(
          collective, group,
          absl::StrCat("peer ", collective.peer, " isn't a rank of a group of ", group.size));
    }
    if (collective.peer == group.rank) {
      return Invalid(collective, group,
                     "a message to oneself needs its send and receive in one grouped call");
    }
  }
  return CheckCounts(collective, group);
}

// Nothing to do, and nobody to wait for.
Plan Nothing(const Collective& collective, const Group& group) {
  PlanBuilder builder("nothing", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(0, 1, 1);
  return builder.Build();
}

Plan Alone(const Collective& collective, const Group& group) {
  PlanBuilder builder("alone", collective, group);
  SetLayout(collective, &builder);
  const uint64_t longest = LongestBlock(collective);
  builder.SetRounds(longest, longest * SizeOf(collective.type), 1);
  const bool reduces = collective.kind == CollectiveKind::kAllReduce ||
                       collective.kind == CollectiveKind::kReduceScatter ||
                       collective.kind == CollectiveKind::kReduce;
  if (reduces && builder.scales()) {
    builder.Scale(Output(0), Input(0), {});
  } else {
    CopyOwnShare(collective, &builder);
  }
  return builder.Build();
}

// What one member publishes, at most.
uint64_t PublishedBytes(const Collective& collective, const Group& group) {
  const bool all_shares = collective.kind == CollectiveKind::kReduceScatter ||
                          collective.kind == CollectiveKind::kScatter ||
                          collective.kind == CollectiveKind::kAllToAll;
  const uint64_t blocks = all_shares ? static_cast<uint64_t>(group.size) : 1;
  return LongestBlock(collective) * blocks * SizeOf(collective.type);
}

Plan PlanForGroup(const Collective& collective, const Group& group, const Limits& limits) {
  const uint64_t staged =
      std::min(group.size == 2 ? limits.staged_by_two : limits.staged, kStagedBytes);
  if (PublishedBytes(collective, group) <= staged) return OneShot(collective, group);
  return Direct(collective, group, limits);
}

Plan PlanForLinks(const Collective& collective, const Group& group, const Limits& limits) {
  const uint64_t bytes = LongestBlock(collective) * SizeOf(collective.type);
  const uint64_t all_bytes = bytes * static_cast<uint64_t>(group.size);
  const int exchange_ranks =
      group.oversubscribed ? limits.exchange_ranks_oversubscribed : limits.exchange_ranks;
  const bool exchanged = group.size <= exchange_ranks && all_bytes - bytes <= limits.exchange;
  const bool power_of_two = (group.size & (group.size - 1)) == 0;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      if (exchanged) return ExchangeAllReduce(collective, group);
      if (bytes <= limits.doubling) return DoublingAllReduce(collective, group);
      if (bytes <= (power_of_two ? limits.halving : limits.halving_folded)) {
        return HalvingDoublingAllReduce(collective, group);
      }
      return RingAllReduce(collective, group, limits);
    case CollectiveKind::kReduceScatter:
      if (all_bytes <= limits.logarithmic) return ExchangeReduceScatter(collective, group);
      return RingReduceScatter(collective, group, limits);
    case CollectiveKind::kAllGather:
      if (exchanged) return ExchangeAllGather(collective, group);
      if (power_of_two && all_bytes <= limits.logarithmic) {
        return DoublingAllGather(collective, group);
      }
      if (all_bytes <= limits.logarithmic) return ExchangeAllGather(collective, group);
      return RingAllGather(collective, group, limits);
    case CollectiveKind::kAllGatherV:
      if (all_bytes <= limits.logarithmic) return ExchangeAllGather(collective, group);
      return RingAllGather(collective, group, limits);
    case CollectiveKind::kBroadcast:
      if (bytes <= limits.logarithmic) return TreeBroadcast(collective, group);
      return ChainBroadcast(collective, group, limits);
    case CollectiveKind::kReduce:
      if (bytes <= limits.logarithmic) return TreeReduce(collective, group);
      return ChainReduce(collective, group, limits);
    case CollectiveKind::kGather:
      return LinkGather(collective, group, limits);
    case CollectiveKind::kScatter:
      return LinkScatter(collective, group, limits);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kAllToAllV:
      return LinkAllToAll(collective, group, limits);
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
      return SendOrReceive(collective, group, limits);
    case CollectiveKind::kBarrier:
      return DisseminationBarrier(collective, group);
  }
  return Nothing(collective, group);
}

}  // namespace

Limits Limits::InOneOrder() {
  Limits limits;
  limits.exchange_ranks = 0;
  limits.exchange_ranks_oversubscribed = 0;
  limits.doubling = 0;
  limits.halving = std::numeric_limits<uint64_t>::max();
  limits.halving_folded = std::numeric_limits<uint64_t>::max();
  return limits;
}

absl::StatusOr<Plan> MakePlan(const Collective& requested, const Group& group,
                              const Limits& limits) {
  PHX_RETURN_IF_ERROR(Check(requested, group));
  Collective collective = requested;
  const bool barrier = collective.kind == CollectiveKind::kBarrier;
  if (barrier) collective.type = DataType::kUint8;
  if (barrier ? group.size == 1 : LongestBlock(collective) == 0) return Nothing(collective, group);
  if (group.size == 1) return Alone(collective, group);
  const bool needs_links = collective.kind == CollectiveKind::kAllToAllV ||
                           collective.kind == CollectiveKind::kSend ||
                           collective.kind == CollectiveKind::kReceive;
  if (!group.shares_memory || needs_links) return PlanForLinks(collective, group, limits);
  if (barrier) return GroupBarrier(collective, group);
  return PlanForGroup(collective, group, limits);
}

}  // namespace phalanx::plan
