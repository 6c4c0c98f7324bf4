#include <rdma/fi_errno.h>

#include <cstddef>
#include <memory>

#include "ofi_peer.h"

namespace phalanx::ofi {
namespace {

constexpr int kBuffers = 4;
constexpr size_t kBufferBytes = sizeof(messaging::FrameHeader) + kEagerBytes;

}  // namespace

// A place for one frame. Reused as long as its connection lives. Left uninitialized, so that only
// what frames have reached takes memory.
class ReceiveBuffer final : public OfiOperation {
 public:
  explicit ReceiveBuffer(OfiIncoming* incoming)
      : incoming_(incoming), bytes_(new std::byte[kBufferBytes]) {}

  bool Post() {
    iovec part = {bytes_.get(), kBufferBytes};
    fi_msg message = {};
    message.msg_iov = &part;
    message.iov_count = 1;
    message.context = static_cast<OfiOperation*>(this);
    return fi_recvmsg(incoming_->endpoint.get(), &message, FI_COMPLETION) == 0;
  }

  void Ended(size_t bytes, int error) override {
    if (incoming_->endpoint == nullptr) return;  // closed meanwhile
    OfiFabric* const fabric = incoming_->fabric;
    if (error == 0) {
      fabric->OnFrame(incoming_, absl::MakeConstSpan(bytes_.get(), bytes));
      if (incoming_->endpoint == nullptr || Post()) return;
    }
    fabric->OnConnectionEnd(&incoming_->endpoint->fid,
                            error != 0 ? fi_strerror(error) : "no more can be received");
  }

 private:
  OfiIncoming* const incoming_;
  const std::unique_ptr<std::byte[]> bytes_;
};

bool OfiIncoming::Start() {
  for (int i = 0; i < kBuffers; ++i) {
    auto buffer = std::make_unique<ReceiveBuffer>(this);
    const bool posted = buffer->Post();
    buffers.push_back(std::move(buffer));
    if (!posted) return false;
  }
  return true;
}

void OfiIncoming::Close() {
  if (endpoint == nullptr) return;
  fabric->incoming_by_endpoint_.erase(&endpoint->fid);
  endpoint.reset();
}

}  // namespace phalanx::ofi
