// What the coordinator and the agents say to each other about checkpoints. Any of it may be lost,
// repeated or overtaken by what was said later.
#ifndef PHALANX_CHECKPOINT_MESSAGES_H_
#define PHALANX_CHECKPOINT_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/version.h"

namespace phalanx::checkpoint {

// The coordinator to every agent: all that holds now, not what has changed, so that the newest one
// alone counts. What it doesn't name is to be freed.
struct Orders {
  Term term;
  uint64_t sequence = 0;
  std::vector<VersionName> kept;       // committed and durable in the record; the newest first
  std::vector<VersionName> in_flight;  // all ranks save these
  int64_t decided = -1;                // up to this one, what isn't in flight is skipped by all
};

// A new coordinator to every agent. From now on the agent refuses whatever earlier terms say.
struct Ask {
  Term term;
};

struct ShardItem {
  VersionName name;
  int rank = 0;
  Digest digest;
};

// The answer: every shard held whole and verified, and the newest orders of this epoch.
struct Inventory {
  Term term;
  AgentId holder = 0;
  std::vector<ShardItem> items;
  std::optional<Orders> orders;
};

// An agent to the coordinator: this shard is held whole and its digest was computed from the copy.
struct Stored {
  AgentId holder = 0;
  ShardItem shard;
};

// An agent to the coordinator: a copy that was verified was found corrupt later, and is gone.
struct CopyIsBad {
  VersionName name;
  int rank = 0;
  AgentId holder = 0;
};

// A rank to the coordinator: it has come to Checkpoint and waits for the decision.
struct Wants {
  int rank = 0;
  VersionName name;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_MESSAGES_H_
