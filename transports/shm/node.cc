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
  std::map<int, std::unique_ptr<PeerSegment>> mapped;
  bool readable = true;
  for (const spi::NodePeer& peer : peers) {
    if (peer.rank == own_rank) continue;
    PHX_ASSIGN_OR_RETURN(std::unique_ptr<PeerSegment> segment,
                         PeerSegment::Map(peer, cross_memory_attach_));
    readable = readable && segment->reads_private_memory();
    if (!mapped.emplace(peer.rank, std::move(segment)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("shared memory: rank ", peer.rank, " is named twice"));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [rank, segment] : mapped) {
    if (peers_.count(rank) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("shared memory: rank ", rank, " is attached already"));
    }
  }
  if (cross_memory_attach_ && !readable) {
    logger_.Info(
        "shared memory: cross-memory attach isn't permitted; buffers that don't come from Allocate "
        "are copied once more");
  }
  peers_.merge(mapped);
  own_rank_.store(own_rank, std::memory_order_release);
  const bool reads =
      cross_memory_attach_ && std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
        return peer.second->reads_private_memory();
      });
  segment_->header().reads_private_memory.store(reads ? Reads::kYes : Reads::kNo,
                                                std::memory_order_release);
  attached_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

const PeerSegment* Node::peer(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = peers_.find(rank);
  return found != peers_.end() ? found->second.get() : nullptr;
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
