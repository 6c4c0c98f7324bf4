#include "node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::shm {

Node::Node(std::unique_ptr<Segment> segment, Incarnation incarnation, bool cross_memory_attach,
           Logger logger)
    : segment_(std::move(segment)),
      incarnation_(incarnation),
      cross_memory_attach_(cross_memory_attach),
      logger_(std::move(logger)) {}

absl::Status Node::Attach(int own_rank, absl::Span<const spi::NodePeer> peers) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (attached()) {
    return absl::FailedPreconditionError("shared memory: the peers are attached already");
  }
  std::vector<std::unique_ptr<PeerSegment>> mapped;
  bool reads_private_memory = true;
  for (const spi::NodePeer& peer : peers) {
    if (peer.rank == own_rank) continue;
    PHX_ASSIGN_OR_RETURN(std::unique_ptr<PeerSegment> segment,
                         PeerSegment::Map(peer, cross_memory_attach_));
    reads_private_memory = reads_private_memory && segment->reads_private_memory();
    mapped.push_back(std::move(segment));
  }
  std::sort(mapped.begin(), mapped.end(),
            [](const auto& a, const auto& b) { return a->rank() < b->rank(); });
  if (cross_memory_attach_ && !reads_private_memory) {
    logger_.Info(
        "shared memory: cross-memory attach isn't permitted; buffers that don't come from Allocate "
        "are copied once more");
  }
  own_rank_ = own_rank;
  reads_private_memory_ = reads_private_memory && cross_memory_attach_;
  peers_ = std::move(mapped);
  attached_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

const PeerSegment* Node::peer(int rank) const {
  const auto found =
      std::lower_bound(peers_.begin(), peers_.end(), rank,
                       [](const auto& peer, int wanted) { return peer->rank() < wanted; });
  return found != peers_.end() && (*found)->rank() == rank ? found->get() : nullptr;
}

void Node::Retire(GroupBlock* block, std::vector<PeerBlock> peers) {
  block->life.store(0, std::memory_order_release);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    retired_.push_back({block, std::move(peers)});
  }
  FreeRetired();
}

void Node::FreeRetired() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto unread = [](const Retired& retired) {
    return std::all_of(retired.peers.begin(), retired.peers.end(), [](const PeerBlock& peer) {
      return peer.block->life.load(std::memory_order_acquire) != peer.life;
    });
  };
  const auto kept = std::partition(retired_.begin(), retired_.end(),
                                   [&](const Retired& retired) { return !unread(retired); });
  for (auto done = kept; done != retired_.end(); ++done) segment_->Free(done->block);
  retired_.erase(kept, retired_.end());
}

uint64_t Node::NewLife() {
  // An odd multiplier spreads the incarnation over the word; the count keeps lives apart.
  const uint64_t life =
      incarnation_.value * 0x9e3779b97f4a7c15 + lives_.fetch_add(1, std::memory_order_relaxed) + 1;
  return life == 0 ? 1 : life;
}

}  // namespace phalanx::shm
