// The node's part of the persistent tier: shards to files and back.
#ifndef PHALANX_CONTROL_AGENT_NODE_TIER_H_
#define PHALANX_CONTROL_AGENT_NODE_TIER_H_

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/logger.h"
#include "checkpoint/restore.h"
#include "checkpoint_files/shard.h"
#include "checkpoint_wire/codec.h"
#include "control_protocol/persist_settings.h"
#include "file_thread.h"
#include "snapshot_memory.h"

namespace phalanx::control {

// What a rank's saved bytes consist of.
using StateLayout = std::vector<checkpoint::RegionLayout>;

// On the agent's thread only. Files are read and written on another one, and handlers are called
// when that is done.
class NodeTier {
 public:
  using Tell = std::function<void(const checkpoint::Message&)>;
  struct Loaded {
    std::shared_ptr<const SnapshotMemory> memory;
    checkpoint::Digest digest;
  };
  using OnLoaded = std::function<void(absl::StatusOr<Loaded>)>;

  // `tell` hands a message to the coordinator.
  NodeTier(asio::io_context& context, PersistSettings settings, std::string job, Tell tell,
           Logger logger);

  // The coordinator's messages. False: it is another one.
  bool FromCoordinator(const checkpoint::Message& message);

  // Writes a rank's shard, tells the coordinator how that went, and then calls `done`; the bytes
  // don't change before.
  void Write(const checkpoint::Persist& persist, int rank,
             std::shared_ptr<const SnapshotMemory> memory,
             std::shared_ptr<const StateLayout> layout, std::function<void()> done);
  void CannotWrite(const checkpoint::VersionName& name, int rank, const std::string& why);

  // Reads the shard of `fetch` into memory of its own. The statuses are those of ReadShard; the
  // message names the file.
  void Read(const checkpoint::Fetch& fetch, std::shared_ptr<const StateLayout> layout,
            OnLoaded on_loaded);

 private:
  // The version whose manifest this agent is to write: that of rank 0.
  struct Collected {
    checkpoint::VersionName name;
    std::map<int, checkpoint::ShardRecord> shards;  // by rank
  };

  void List();
  void Collect(const checkpoint::ShardWritten& written);
  void Seal(const Collected& collected);
  checkpoint::VersionPlace PlaceOf(const checkpoint::VersionName& name,
                                   const std::string& job) const;

  const PersistSettings settings_;
  const std::string job_;
  const Tell tell_;
  const Logger logger_;
  std::vector<checkpoint::TierVersion> versions_;  // as the coordinator said
  std::optional<checkpoint::Persist> persist_;     // the last
  Collected collected_;
  FileThread files_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_NODE_TIER_H_
