// Memory for copies of other agents' shards, used again when nobody reads it any more: touching
// fresh memory takes far longer than copying into it.
#ifndef PHALANX_CONTROL_AGENT_REPLICA_MEMORY_H_
#define PHALANX_CONTROL_AGENT_REPLICA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot_memory.h"

namespace phalanx::control {

// Any thread. Made by std::make_shared; what it gave may outlive it.
class ReplicaMemory : public std::enable_shared_from_this<ReplicaMemory> {
 public:
  // Comes back here with its last reference. RESOURCE_EXHAUSTED as of SnapshotMemory::Create().
  absl::StatusOr<std::shared_ptr<SnapshotMemory>> Take(uint64_t bytes);

  size_t idle() const;  // pieces that wait to be used again

 private:
  void GiveBack(SnapshotMemory* memory);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<SnapshotMemory>> idle_;
  size_t used_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_REPLICA_MEMORY_H_
