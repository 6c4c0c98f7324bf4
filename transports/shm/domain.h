// The group face of a session: memory, attaching, forming groups.
#ifndef PHALANX_SHM_DOMAIN_H_
#define PHALANX_SHM_DOMAIN_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "group.h"
#include "node.h"
#include "spi/group.h"

namespace phalanx::shm {

class ShmDomain : public spi::GroupDomain {
 public:
  explicit ShmDomain(std::shared_ptr<Node> node) : node_(std::move(node)) {}

  int segment_fd() const override { return node_->segment().fd(); }
  absl::Status Attach(int own_rank, absl::Span<const spi::NodePeer> peers) override {
    return node_->Attach(own_rank, peers);
  }
  absl::StatusOr<void*> Allocate(size_t bytes) override;
  void Free(void* memory) override { node_->segment().Free(memory); }
  absl::StatusOr<std::string> PrepareGroup(int size) override;
  absl::StatusOr<std::unique_ptr<spi::GroupTransport>> OpenGroup(
      CommunicatorId id, absl::Span<const int> ranks, absl::Span<const std::string> prepared,
      bool oversubscribed) override;

 private:
  // The block that PrepareGroup() made with that life, handed out once; null if there is none.
  GroupBlock* TakePrepared(uint64_t life);
  absl::Status FindPeerBlock(CommunicatorId id, const PreparedBlock& part,
                             ShmGroup::Member* member) const;

  const std::shared_ptr<Node> node_;
  std::mutex mutex_;
  std::map<uint64_t, GroupBlock*> prepared_;  // guarded by mutex_: by life, not yet opened
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_DOMAIN_H_
