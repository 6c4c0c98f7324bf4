// Messages about checkpoints as bytes; and those between a worker and its agent and between two
// agents, which are no matter of the cores.
#ifndef PHALANX_CHECKPOINT_WIRE_CODEC_H_
#define PHALANX_CHECKPOINT_WIRE_CODEC_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/messages.h"
#include "checkpoint/restore.h"
#include "checkpoint/step_messages.h"

namespace phalanx::checkpoint {

enum class LoadResult : uint8_t {
  kLoaded,
  kCorrupt,   // the bytes don't have the digest
  kNoAnswer,  // there was nothing to read
};
inline constexpr int kLoadResultCount = 3;

// An agent to the coordinator: how a Fetch ended.
struct FetchEnded {
  int rank = 0;
  VersionName name;
  Source source;
  LoadResult result = LoadResult::kLoaded;
  uint64_t bytes = 0;  // that were read
};

// A worker says what its copies consist of, in this order; several of these in a row if one can't
// hold all. Before OpenRooms.
struct DescribeState {
  struct Region {
    std::string name;
    uint64_t bytes = 0;
  };
  std::vector<Region> regions;
};
// A worker asks its agent for memory to save in: so many bytes for each version. Before its first
// Reached, once.
struct OpenRooms {
  uint64_t bytes = 0;
};
// The answer: as many descriptors of memory come with it, to be written to. They are the worker's
// until the process ends.
struct Rooms {
  uint32_t count = 0;
};
// A worker has come to Checkpoint and waits for the Verdict.
struct Reached {
  int64_t version = 0;
};
struct Verdict {
  int64_t version = 0;
  int room = -1;  // into which to copy; -1: the version is skipped by all ranks
};
// The copy is there, and the worker won't touch it until it is given the room again.
struct Taken {
  int64_t version = 0;
};
// A worker has come to Restore.
struct AwaitsState {};
// What it is to read; the memory's descriptor comes with it, unless these are its first regions. A
// later one replaces an earlier one, up to Restored.
struct Load {
  VersionName name;
  Digest digest;
  uint64_t round = 0;
  uint64_t bytes = 0;
  bool is_initial = false;
};
struct Loaded {
  uint64_t round = 0;
  LoadResult result = LoadResult::kLoaded;
};

// The coordinator to an agent: which versions does the persistent tier have?
struct AskTier {};
struct TierVersion {
  VersionName name;
  std::string job;  // that wrote it
  int ranks = 0;
  int64_t committed_unix_ms = 0;
};
// The answer, and an agent's word that a version was written. The coordinator to all agents: these
// count, and each name means this job's.
struct Tier {
  std::vector<TierVersion> versions;  // the newest first; names fall
  std::string problem;                // not empty: the tier can't be read
};
// The coordinator to every agent: write your ranks' shards of this committed version to files.
struct Persist {
  VersionName name;
  int ranks = 0;
};
// The answer for each rank; and on to the agent of rank 0, which writes the manifest.
struct ShardWritten {
  VersionName name;
  int rank = 0;
  uint64_t bytes = 0;  // of the file
  Digest digest;
  uint32_t crc32c = 0;
};
// Instead of it; and of Tier when the manifest can't be written: rank -1.
struct PersistFailed {
  VersionName name;
  int rank = -1;
  std::string problem;
};

// The coordinator to an agent: where another one listens for agents. Before a Fetch or a Copy that
// names it.
struct PeerAddress {
  AgentId agent = 0;
  std::string host;  // at most kMostHostBytes
  uint16_t port = 0;
};
// The coordinator to an agent: to hold a copy of this shard, which `from` has.
struct Copy {
  VersionName name;
  int rank = 0;
  AgentId from = 0;
  Digest digest;
};
// The answer, before Stored if it went well.
struct CopyEnded {
  VersionName name;
  int rank = 0;
  AgentId from = 0;
  LoadResult result = LoadResult::kLoaded;
  uint64_t bytes = 0;  // that were copied
};

// An agent asks another one for a part of a shard: at most kMostPartBytes.
struct ReadPart {
  VersionName name;
  int rank = 0;
  uint64_t offset = 0;
  uint32_t bytes = 0;
  bool urgent = false;  // a rank waits for it
};
// The answer: as much as the shard has there.
struct ShardPart {
  VersionName name;
  int rank = 0;
  uint64_t offset = 0;
  uint64_t total = 0;  // bytes of the shard
  uint32_t crc = 0;    // Crc32c of `bytes`
  std::string bytes;
};
// Or: it isn't there, or no longer.
struct NoShard {
  VersionName name;
  int rank = 0;
};
// What was read doesn't have the shard's digest; the holder is to look at its copy.
struct CheckShard {
  VersionName name;
  int rank = 0;
};
// Parts that were asked for and aren't urgent come later; said now and then meanwhile.
struct PartsLater {};

using Message =
    std::variant<Ask, Orders, Fetch, Restored, Inventory, Stored, CopyIsBad, Wants, FetchEnded,
                 OpenRooms, Reached, Taken, AwaitsState, Loaded, Rooms, Verdict, Load,
                 DescribeState, AskTier, Tier, Persist, ShardWritten, PersistFailed, PeerAddress,
                 Copy, CopyEnded, ReadPart, CheckShard, ShardPart, NoShard, PartsLater, AskStanding,
                 Resolve, CopyRegions, ServeRegions, ResumeSteps, ApplyStep, RollBackSteps,
                 StepReport, StepStands, Vote>;

// Bounds that the decoder holds.
inline constexpr int kMaxRank = 65535;
inline constexpr size_t kMostVersions = 64;
inline constexpr uint32_t kMostRooms = 64;
inline constexpr size_t kMaxNameBytes = 4096;     // of a region or a job
inline constexpr size_t kMaxProblemBytes = 8192;  // longer ones are cut by the encoder
inline constexpr size_t kMostHostBytes = 255;
inline constexpr uint32_t kMostPartBytes = uint32_t{512} << 10;

// The name of the agent or the rank that speaks isn't sent: whoever gets a message knows from whom.
std::string Encode(const Message& message);

// Any bytes are safe to pass. INVALID_ARGUMENT when they are not a well-formed message within its
// bounds.
absl::StatusOr<Message> Decode(absl::string_view bytes);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_WIRE_CODEC_H_
