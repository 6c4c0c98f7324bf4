// Links: collectives that move whole shares.
#include <vector>

#include "algorithms.h"
#include "layout.h"
#include "link_steps.h"
#include "plan_builder.h"

namespace phalanx::plan {

Plan ExchangeAllGather(const Collective& collective, const Group& group) {
  PlanBuilder builder("exchange", collective, group);
  SetLayout(collective, &builder);
  const uint64_t longest = LongestBlock(collective);
  builder.SetRounds(longest, longest * SizeOf(collective.type), 1);
  builder.SetMessages(1);
  for (int distance = 1; distance < group.size; ++distance) {
    const int receiver = builder.Peer(distance);
    const int sender = builder.Peer(-distance);
    builder.Send(receiver, ShareOf(collective, group.rank), 0, {});
    builder.Receive(sender, Output(sender), 0, {});
  }
  CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan DoublingAllGather(const Collective& collective, const Group& group) {
  PlanBuilder builder("doubling", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
  int levels = 0;
  while ((1 << levels) < group.size) ++levels;
  builder.SetMessages(levels);
  StepIndex ready = CopyOwnShare(collective, &builder);
  for (int level = 0; level < levels; ++level) {
    const int blocks = 1 << level;
    const int first = group.rank & ~(blocks - 1);
    const int partner = group.rank ^ blocks;
    builder.Send(partner, Output(first, blocks), level, {ready});
    // Follows what we hold, too, so that one name stands for both halves at the next level.
    ready = builder.Receive(partner, Output(first ^ blocks, blocks), level, {ready});
  }
  return builder.Build();
}

Plan RingAllGather(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("ring", collective, group);
  SetLayout(collective, &builder);
  SetLinkRounds(LongestBlock(collective), limits, &builder);
  builder.SetMessages(group.size - 1);
  Contribution share{ShareOf(collective, group.rank), kNone};
  for (int step = 0; step < group.size - 1; ++step) {
    builder.Send(builder.Peer(1), share.operand, step, {share.ready});
    const Operand place = Output(builder.Peer(-1 - step));
    share = Contribution{place, builder.Receive(builder.Peer(-1), place, step, {})};
  }
  CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan TreeBroadcast(const Collective& collective, const Group& group) {
  PlanBuilder builder("binomial", collective, group);
  SetLayout(collective, &builder);
  builder.SetRounds(collective.count, collective.count * SizeOf(collective.type), 1);
  builder.SetMessages(1);
  const int place = builder.Wrap(group.rank - collective.root);
  Contribution vector{Input(0), kNone};
  int reach = 1;  // distance to the farthest child, doubled
  if (place == 0) {
    while (reach < group.size) reach *= 2;
    CopyOwnShare(collective, &builder);
  } else {
    while ((place & reach) == 0) reach *= 2;
    const int parent = builder.Wrap(place - reach + collective.root);
    vector = Contribution{Output(0), builder.Receive(parent, Output(0), 0, {})};
  }
  for (int distance = reach / 2; distance > 0; distance /= 2) {
    if (place + distance >= group.size) continue;
    const int child = builder.Wrap(place + distance + collective.root);
    builder.Send(child, vector.operand, 0, {vector.ready});
  }
  return builder.Build();
}

Plan ChainBroadcast(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("chain", collective, group);
  SetLayout(collective, &builder);
  SetChainRounds(collective.count, limits, &builder);
  builder.SetMessages(1);
  const int place = builder.Wrap(group.rank - collective.root);
  Contribution vector{Input(0), kNone};
  if (place > 0) {
    vector = Contribution{Output(0), builder.Receive(builder.Peer(-1), Output(0), 0, {})};
  }
  if (place < group.size - 1) builder.Send(builder.Peer(1), vector.operand, 0, {vector.ready});
  if (place == 0) CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan LinkGather(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("to-root", collective, group);
  SetLayout(collective, &builder);
  SetLinkRounds(collective.count, limits, &builder);
  builder.SetMessages(1);
  if (group.rank != collective.root) {
    builder.Send(collective.root, Input(0), 0, {});
    return builder.Build();
  }
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder.Peer(distance);
    builder.Receive(peer, Output(peer), 0, {});
  }
  CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan LinkScatter(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("from-root", collective, group);
  SetLayout(collective, &builder);
  SetLinkRounds(collective.count, limits, &builder);
  builder.SetMessages(1);
  if (group.rank != collective.root) {
    builder.Receive(collective.root, Output(0), 0, {});
    return builder.Build();
  }
  for (int distance = 1; distance < group.size; ++distance) {
    const int peer = builder.Peer(distance);
    builder.Send(peer, Input(peer), 0, {});
  }
  CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan LinkAllToAll(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("pairwise", collective, group);
  SetLayout(collective, &builder);
  // With counts, ranks know their own alone, so the chunk is one that doesn't depend on them.
  if (collective.kind == CollectiveKind::kAllToAllV) {
    builder.SetRounds(LongestBlock(collective), limits.link_chunk_most, limits.link_window);
    builder.SetChunk(limits.link_chunk_most);
  } else {
    SetLinkRounds(collective.count, limits, &builder);
  }
  builder.SetMessages(1);
  for (int distance = 1; distance < group.size; ++distance) {
    const int receiver = builder.Peer(distance);
    const int sender = builder.Peer(-distance);
    builder.Receive(sender, Output(sender), 0, {});
    builder.Send(receiver, Input(receiver), 0, {});
  }
  CopyOwnShare(collective, &builder);
  return builder.Build();
}

Plan SendOrReceive(const Collective& collective, const Group& group, const Limits& limits) {
  PlanBuilder builder("message", collective, group);
  SetLayout(collective, &builder);
  SetChainRounds(collective.count, limits, &builder);
  builder.SetMessages(1);
  if (collective.kind == CollectiveKind::kSend) {
    builder.Send(collective.peer, Input(0), 0, {});
  } else {
    builder.Receive(collective.peer, Output(0), 0, {});
  }
  return builder.Build();
}

Plan DisseminationBarrier(const Collective& collective, const Group& group) {
  PlanBuilder builder("dissemination", collective, group);
  int levels = 0;
  while ((1 << levels) < group.size) ++levels;
  builder.SetRounds(1, 1, 1);
  builder.SetMessages(levels);
  // The messages have a byte each, since an empty range is no message. What is in it means nothing.
  const Operand sent = builder.AddScratch(1);
  StepIndex arrived = kNone;
  for (int level = 0; level < levels; ++level) {
    const int distance = 1 << level;
    builder.Send(builder.Peer(distance), sent, level, {arrived});
    arrived = builder.Receive(builder.Peer(-distance), builder.AddScratch(1), level, {arrived});
  }
  return builder.Build();
}

}  // namespace phalanx::plan
