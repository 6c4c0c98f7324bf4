// The shards that other agents may read.
#ifndef PHALANX_CONTROL_AGENT_SHARD_SHELF_H_
#define PHALANX_CONTROL_AGENT_SHARD_SHELF_H_

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "checkpoint/version.h"
#include "snapshot_memory.h"

namespace phalanx::control {

// A version's shard of a rank.
using ShardKey = std::pair<checkpoint::VersionName, int>;

// Any thread.
class ShardShelf {
 public:
  void Put(const ShardKey& key, std::shared_ptr<const SnapshotMemory> memory) {
    const std::lock_guard lock(mutex_);
    shards_[key] = std::move(memory);
  }
  // Whoever reads it goes on reading.
  void Remove(const ShardKey& key) {
    const std::lock_guard lock(mutex_);
    shards_.erase(key);
  }
  // Null: it isn't there.
  std::shared_ptr<const SnapshotMemory> Find(const ShardKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = shards_.find(key);
    return found == shards_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<ShardKey, std::shared_ptr<const SnapshotMemory>> shards_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_SHARD_SHELF_H_
