// What a session has on its node: its own segment and its peers'. Shared by the group domain, its
// groups and the wire.
#ifndef PHALANX_SHM_NODE_H_
#define PHALANX_SHM_NODE_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/logger.h"
#include "group_block.h"
#include "peer_segment.h"
#include "segment.h"
#include "spi/group.h"

namespace phalanx::shm {

// Thread-safe.
class Node {
 public:
  Node(std::unique_ptr<Segment> segment, Incarnation incarnation, bool cross_memory_attach,
       Logger logger);

  Segment& segment() { return *segment_; }
  const Logger& logger() const { return logger_; }
  Incarnation incarnation() const { return incarnation_; }

  // Maps peers; a later call adds others. Nothing more is mapped after an error.
  absl::Status Attach(int own_rank, absl::Span<const spi::NodePeer> peers);
  bool attached() const { return attached_.load(std::memory_order_acquire); }

  // After Attach().
  int own_rank() const { return own_rank_.load(std::memory_order_acquire); }
  const PeerSegment* peer(int rank) const;  // null if it isn't on this node, or is ourselves

  // A peer's control block and the life that it had.
  struct PeerBlock {
    const GroupBlock* block;
    uint64_t life;
  };
  // Takes over the block of a group that has ended here. Peers may still be reading it; it is freed
  // by a later call, when the group has ended with all of them.
  void Retire(GroupBlock* block, std::vector<PeerBlock> peers);
  void FreeRetired();

  // Never repeats in this segment and hardly in another.
  uint64_t NewLife();

 private:
  struct Retired {
    GroupBlock* block;
    std::vector<PeerBlock> peers;
  };

  const std::unique_ptr<Segment> segment_;
  const Incarnation incarnation_;
  const bool cross_memory_attach_;
  const Logger logger_;

  mutable std::mutex mutex_;
  std::vector<Retired> retired_;                       // guarded by mutex_
  std::map<int, std::unique_ptr<PeerSegment>> peers_;  // guarded by mutex_; by rank, never removed
  std::atomic<uint64_t> lives_{0};
  std::atomic<int> own_rank_{-1};
  std::atomic<bool> attached_{false};
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_NODE_H_
