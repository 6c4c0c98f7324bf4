#include "ofi_peer.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::ofi {

using messaging::BulkId;
using messaging::FrameHeader;
using messaging::FrameKind;

// One frame or remote write on its way to libfabric or in it.
class OfiPeer::Outgoing final : public OfiOperation {
 public:
  explicit Outgoing(OfiPeer* owner) : peer(owner) {}

  // Hands it over: 0 or a negative libfabric error. `done` if no completion will come.
  int64_t Post(fid_ep* endpoint, size_t inject_bytes, bool* done) {
    *done = false;
    return write ? PostWrite(endpoint) : PostFrame(endpoint, inject_bytes, done);
  }

  void Ended(size_t, int error) override {
    if (!active) return;  // its peer has ended already
    --peer->posted_;
    if (error != 0) return peer->Lost(fi_strerror(error));
    Finish(absl::OkStatus());
  }

  void Finish(const absl::Status& status) {
    active = false;
    spi::Transfer* const ended = std::exchange(transfer, nullptr);
    peer->free_operations_.push_back(this);
    if (ended != nullptr) ended->Finish(status);
  }

  OfiPeer* const peer;
  bool active = false;
  bool write = false;
  FrameHeader header;
  absl::Span<const std::byte> payload;  // the caller's, or in `copied`
  std::byte copied[kCopiedBytes];
  spi::Transfer* transfer = nullptr;
  fi_rma_iov remote = {};  // of a write

 private:
  int64_t PostFrame(fid_ep* endpoint, size_t inject_bytes, bool* done) {
    iovec parts[2] = {{&header, sizeof(header)},
                      {const_cast<std::byte*>(payload.data()), payload.size()}};
    fi_msg message = {};
    message.msg_iov = parts;
    message.iov_count = payload.empty() ? 1 : 2;
    message.context = static_cast<OfiOperation*>(this);
    *done = sizeof(header) + payload.size() <= inject_bytes;
    return fi_sendmsg(endpoint, &message, *done ? FI_INJECT : FI_COMPLETION);
  }

  int64_t PostWrite(fid_ep* endpoint) {
    iovec part = {const_cast<std::byte*>(payload.data()), payload.size()};
    fi_msg_rma message = {};
    message.msg_iov = &part;
    message.iov_count = 1;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = static_cast<OfiOperation*>(this);
    return fi_writemsg(endpoint, &message, FI_COMPLETION);
  }
};

OfiPeer::OfiPeer(OfiFabric* fabric, int rank) : fabric_(fabric), rank_(rank) {}

OfiPeer::~OfiPeer() = default;

absl::Status OfiPeer::Connect(const std::string& address) {
  auto endpoint = fabric_->context_->NewEndpoint(address, nullptr);
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(*endpoint);
  fabric_->peer_by_endpoint_[&endpoint_->fid] = this;
  const int result = fi_connect(endpoint_.get(), address.data(), nullptr, 0);
  if (result != 0) Lost(Describe("connecting", result));
  return absl::OkStatus();
}

OfiPeer::Outgoing* OfiPeer::NewOutgoing() {
  if (free_operations_.empty()) {
    free_operations_.push_back(operations_.emplace_back(std::make_unique<Outgoing>(this)).get());
  }
  Outgoing* const outgoing = free_operations_.back();
  free_operations_.pop_back();
  outgoing->active = true;
  outgoing->write = false;
  return outgoing;
}

void OfiPeer::SendEager(const FrameHeader& header, absl::Span<const std::byte> payload,
                        spi::Transfer* transfer) {
  if (!status_.ok()) {
    if (transfer != nullptr) transfer->Finish(status_);
    return;
  }
  Outgoing* const outgoing = NewOutgoing();
  outgoing->header = header;
  outgoing->payload = payload;
  outgoing->transfer = transfer;
  if (transfer == nullptr && !payload.empty()) {
    PHX_CHECK(payload.size() <= kCopiedBytes);
    std::memcpy(outgoing->copied, payload.data(), payload.size());
    outgoing->payload = absl::MakeConstSpan(outgoing->copied, payload.size());
  }
  Enqueue(outgoing);
}

void OfiPeer::Enqueue(Outgoing* outgoing) {
  queue_.push_back(outgoing);
  Flush();
}

bool OfiPeer::Flush() {
  bool moved = false;
  while (connected_ && status_.ok() && !queue_.empty()) {
    Outgoing* const outgoing = queue_.front();
    bool done = false;
    const int64_t result =
        outgoing->Post(endpoint_.get(), fabric_->context_->inject_bytes(), &done);
    if (result == -FI_EAGAIN) return moved;
    if (result != 0) {
      Lost(Describe("sending", result));
      return moved;
    }
    moved = true;
    queue_.pop_front();
    if (done) {
      outgoing->Finish(absl::OkStatus());
    } else {
      ++posted_;
    }
  }
  return moved;
}

void OfiPeer::SendBulk(const FrameHeader& header, absl::Span<const std::byte> payload,
                       spi::Transfer* transfer) {
  if (!status_.ok()) return transfer->Finish(status_);
  const AnnouncePayload announce{next_number_++, payload.size()};
  bulk_sends_[announce.number] = {payload, transfer};
  SendEager(header,
            absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&announce), sizeof(announce)),
            nullptr);
}

void OfiPeer::AcceptBulk(BulkId bulk, absl::Span<std::byte> destination, spi::Transfer* transfer) {
  const auto announced = fabric_->announced_.extract(bulk);
  PHX_CHECK(!announced.empty());
  if (!status_.ok()) return transfer->Finish(status_);
  auto region = fabric_->context_->Register(destination.data(), destination.size());
  if (!region.ok()) {
    Lost(std::string(region.status().message()));
    return transfer->Finish(status_);
  }
  const ClearPayload clear{announced.mapped().sender_number, next_number_++,
                           fabric_->context_->RemoteAddress(destination.data()),
                           fi_mr_key(region->get())};
  bulk_receives_[clear.receiver_number] = {std::move(*region), transfer};
  FrameHeader header;
  header.kind = kClearFrame;
  SendEager(header, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&clear), sizeof(clear)),
            nullptr);
}

void OfiPeer::DropBulk(BulkId bulk) { fabric_->announced_.erase(bulk); }

void OfiPeer::OnClear(absl::Span<const std::byte> payload) {
  ClearPayload clear;
  if (payload.size() != sizeof(clear)) return Lost("it sent a malformed frame");
  std::memcpy(&clear, payload.data(), sizeof(clear));
  const auto found = bulk_sends_.extract(clear.sender_number);
  if (found.empty()) return Lost("it asked for a message that wasn't announced");
  Outgoing* const write = NewOutgoing();
  write->write = true;
  write->payload = found.mapped().payload;
  write->transfer = found.mapped().transfer;
  write->remote.addr = clear.address;
  write->remote.len = write->payload.size();
  write->remote.key = clear.key;
  Enqueue(write);
  FrameHeader header;
  header.kind = kLandedFrame;
  header.value = clear.receiver_number;
  SendEager(header, {}, nullptr);
}

void OfiPeer::OnLanded(uint64_t receiver_number) {
  const auto found = bulk_receives_.extract(receiver_number);
  if (found.empty()) return Lost("it sent a message that nobody had cleared");
  found.mapped().transfer->Finish(absl::OkStatus());
}

void OfiPeer::BindSource(messaging::SourceId source) {
  const auto found = fabric_->incoming_.find(source);
  if (found == fabric_->incoming_.end()) return Lost("its connection has ended");
  incoming_ = found->second.get();
  incoming_->peer = this;
  if (incoming_->lost) Lost("its connection has ended");
}

void OfiPeer::OnConnected() {
  connected_ = true;
  Flush();
}

void OfiPeer::Lost(const std::string& reason) {
  if (!status_.ok()) return;
  status_ = absl::UnavailableError(absl::StrCat("ofi: rank ", rank_, " is gone (", reason, ")"));
  fabric_->broken_.push_back(this);
}

bool OfiPeer::busy() const {
  return posted_ > 0 || !queue_.empty() || !bulk_sends_.empty() || !bulk_receives_.empty();
}

void OfiPeer::Break(const absl::Status& status) {
  if (status_.ok()) status_ = status;
  if (endpoint_ == nullptr) return;
  // Once both connections are closed, libfabric touches none of their buffers.
  fabric_->peer_by_endpoint_.erase(&endpoint_->fid);
  endpoint_.reset();
  connected_ = false;
  if (incoming_ != nullptr) incoming_->Close();
  queue_.clear();
  posted_ = 0;
  for (const auto& operation : operations_) {
    if (operation->active) operation->Finish(status_);
  }
  for (auto& [number, send] : std::exchange(bulk_sends_, {})) send.transfer->Finish(status_);
  for (auto& [number, receive] : std::exchange(bulk_receives_, {})) {
    receive.transfer->Finish(status_);
  }
}

}  // namespace phalanx::ofi
