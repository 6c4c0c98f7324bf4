#include "replica_memory.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace phalanx::control {

absl::StatusOr<std::shared_ptr<SnapshotMemory>> ReplicaMemory::Take(uint64_t bytes) {
  std::unique_ptr<SnapshotMemory> memory;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.begin(), idle_.end(),
                                    [&](const auto& idle) { return idle->bytes() == bytes; });
    if (found != idle_.end()) {
      memory = std::move(*found);
      idle_.erase(found);
    }
  }
  if (memory == nullptr) {
    PHX_ASSIGN_OR_RETURN(memory, SnapshotMemory::CreateForUs(bytes));
  }
  const std::lock_guard lock(mutex_);
  ++used_;
  return std::shared_ptr<SnapshotMemory>(
      memory.release(), [weak = weak_from_this()](SnapshotMemory* returned) {
        if (const std::shared_ptr<ReplicaMemory> self = weak.lock(); self != nullptr) {
          self->GiveBack(returned);
        } else {
          delete returned;
        }
      });
}

// No more is kept than is in use: one version is freed when the next one has come.
void ReplicaMemory::GiveBack(SnapshotMemory* returned) {
  std::unique_ptr<SnapshotMemory> memory(returned);
  const std::lock_guard lock(mutex_);
  --used_;
  idle_.push_back(std::move(memory));
  while (idle_.size() > used_) idle_.erase(idle_.begin());
}

size_t ReplicaMemory::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

}  // namespace phalanx::control
