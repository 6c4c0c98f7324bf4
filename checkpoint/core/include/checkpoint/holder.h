// An agent's part of saving: which shards it has room for, which are whole, what it tells of them.
// Pure: bytes, checksums and digests are the caller's; the core says when they are due.
//
// Rooms are opened and freed by the coordinator's orders alone, one for each version they name, so
// an agent has room for what is kept and what is in flight and is never asked for more.
#ifndef PHALANX_CHECKPOINT_HOLDER_H_
#define PHALANX_CHECKPOINT_HOLDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "checkpoint/messages.h"
#include "checkpoint/version.h"

namespace phalanx::checkpoint {

struct HolderSettings {
  AgentId agent = 0;
  size_t rooms = 2;  // versions: as many as the coordinator keeps and has in flight
};

// A shard's bytes are about to come: from a rank of this agent, or from another agent that has it.
// Repeating it changes nothing while the shard is coming or whole.
struct ShardBegins {
  VersionName name;
  int rank = 0;
  uint32_t chunks = 1;             // at least 1
  std::optional<Digest> expected;  // none: a rank of this agent, whose bytes are what they are
};
struct ChunkArrived {
  VersionName name;
  int rank = 0;
  uint32_t index = 0;
  bool intact = true;  // its checksum is right
};
// Answers DigestShard.
struct ShardDigested {
  VersionName name;
  int rank = 0;
  Digest digest;
};
// A reader found the verified copy corrupt.
struct ShardIsBad {
  VersionName name;
  int rank = 0;
};
struct HolderAgain {};  // a timer's: repeats what may have been lost
using HolderInput =
    std::variant<Orders, Ask, ShardBegins, ChunkArrived, ShardDigested, ShardIsBad, HolderAgain>;

struct FetchChunk {  // came damaged: get it again
  VersionName name;
  int rank = 0;
  uint32_t index = 0;
};
struct DigestShard {  // all chunks are there: compute the digest of what was stored
  VersionName name;
  int rank = 0;
};
// The version's memory may be used for another one.
struct Release {
  VersionName name;
};
struct Refused {
  enum class Reason {
    kStale,   // from an earlier term or epoch
    kNoRoom,  // not a version that this agent was told to hold
    kCorrupt,
  };
  Reason reason = Reason::kStale;
  VersionName name;
  int rank = 0;
};
using HolderOutput =
    std::variant<Stored, Inventory, FetchChunk, DigestShard, Release, CopyIsBad, Refused>;

class Holder {
 public:
  // What the coordinator decided for a version that a rank of this agent has come to.
  enum class Verdict { kUndecided, kTake, kSkip };

  explicit Holder(const HolderSettings& settings);

  std::vector<HolderOutput> Step(const HolderInput& input);

  Verdict VerdictOn(const VersionName& name) const;
  bool Has(const VersionName& name, int rank) const;  // whole and verified

 private:
  struct Shard {
    uint32_t chunks = 0;
    std::set<uint32_t> missing;
    std::optional<Digest> expected;
    std::optional<Digest> digest;  // verified
  };
  using Room = std::map<int, Shard>;  // by rank

  void Handle(const Orders& orders);
  void Handle(const Ask& ask);
  void Handle(const ShardBegins& begins);
  void Handle(const ChunkArrived& chunk);
  void Handle(const ShardDigested& digested);
  void Handle(const ShardIsBad& bad);
  void Handle(const HolderAgain& again);

  Shard* Find(const VersionName& name, int rank);
  void Refuse(Refused::Reason reason, const VersionName& name, int rank);

  const HolderSettings settings_;
  Term term_;  // the newest that has spoken
  std::optional<Orders> orders_;
  std::map<VersionName, Room> rooms_;
  std::map<VersionName, std::set<int>> bad_;  // found corrupt and not whole again, by rank
  std::vector<HolderOutput> outputs_;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_HOLDER_H_
