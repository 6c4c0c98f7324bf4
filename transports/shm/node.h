// What a session has on its node: its own segment and its peers'. Shared by the group domain, its
// groups and the wire.
#ifndef PHALANX_SHM_NODE_H_
#define PHALANX_SHM_NODE_H_

#include <atomic>
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

  // Once. Nothing stays mapped after an error.
  absl::Status Attach(int own_rank, absl::Span<const spi::NodePeer> peers);
  bool attached() const { return attached_.load(std::memory_order_acquire); }

  // After Attach().
  int own_rank() const { return own_rank_; }
  const PeerSegment* peer(int rank) const;  // null if it isn't on this node, or is ourselves
  bool reads_private_memory() const { return reads_private_memory_; }  // of every peer

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

  std::mutex mutex_;
  std::vector<Retired> retired_;  // guarded by mutex_
  std::atomic<uint64_t> lives_{0};

  // Written by Attach() before attached_ is set, constant afterwards.
  std::atomic<bool> attached_{false};
  int own_rank_ = -1;
  bool reads_private_memory_ = true;
  std::vector<std::unique_ptr<PeerSegment>> peers_;  // by rank
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_NODE_H_
