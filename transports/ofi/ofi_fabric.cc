#include "ofi_fabric.h"

#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ofi_peer.h"

namespace phalanx::ofi {

using messaging::FabricPeer;
using messaging::FrameHeader;
using messaging::FrameKind;

OfiFabric::OfiFabric(std::unique_ptr<OfiContext> context) : context_(std::move(context)) {}

OfiFabric::~OfiFabric() {
  for (const auto& peer : peers_) peer->Break(absl::CancelledError("the wire was destroyed"));
  for (const auto& [id, incoming] : incoming_) incoming->Close();
  context_->RejectPending();
}

FabricPeer* OfiFabric::Open(int rank, const std::string& address, absl::Status* why) {
  sockaddr_storage remote = {};
  if (address.size() > sizeof(remote) || address.empty()) {
    *why = absl::InvalidArgumentError("ofi: not an address");
    return nullptr;
  }
  auto peer = std::make_unique<OfiPeer>(this, rank);
  *why = peer->Connect(address);
  if (!why->ok()) return nullptr;
  return peers_.emplace_back(std::move(peer)).get();
}

bool OfiFabric::Arm() {
  if (!broken_.empty()) return false;
  for (const auto& peer : peers_) {
    if (peer->stuck()) return false;
  }
  return context_->Arm();
}

bool OfiFabric::Progress(messaging::FabricEvents* events) {
  sink_ = events;
  bool moved = ReadCompletions();
  moved = ReadEvents() || moved;
  for (const auto& peer : peers_) moved = peer->Flush() || moved;
  moved = ReportBroken() || moved;
  sink_ = nullptr;
  return moved;
}

bool OfiFabric::ReadCompletions() {
  constexpr size_t kAtOnce = 16;
  bool moved = false;
  for (;;) {
    fi_cq_msg_entry entries[kAtOnce];
    const ssize_t count = fi_cq_read(context_->completions(), entries, kAtOnce);
    if (count > 0) {
      moved = true;
      for (ssize_t i = 0; i < count; ++i) {
        static_cast<OfiOperation*>(entries[i].op_context)->Ended(entries[i].len, 0);
      }
      // One round for small traffic: events and queued frames have their turn too.
      if (count < static_cast<ssize_t>(kAtOnce)) return true;
    } else if (count == -FI_EAVAIL) {
      moved = true;
      fi_cq_err_entry error = {};
      if (fi_cq_readerr(context_->completions(), &error, 0) != 1) return moved;
      if (error.op_context != nullptr) {
        static_cast<OfiOperation*>(error.op_context)
            ->Ended(0, error.err != 0 ? error.err : FI_EOTHER);
      }
    } else {
      return moved;
    }
  }
}

bool OfiFabric::ReadEvents() {
  bool moved = false;
  for (;;) {
    uint32_t what = 0;
    fi_eq_cm_entry entry = {};
    const ssize_t bytes = fi_eq_read(context_->events(), &what, &entry, sizeof(entry), 0);
    if (bytes == -FI_EAVAIL) {
      moved = true;
      fi_eq_err_entry error = {};
      if (fi_eq_readerr(context_->events(), &error, 0) < 0) return moved;
      OnConnectionEnd(error.fid, fi_strerror(error.err));
      continue;
    }
    if (bytes < 0) return moved;
    moved = true;
    if (what == FI_CONNREQ) {
      OnConnectionRequest(entry.info);
    } else if (what == FI_CONNECTED) {
      const auto found = peer_by_endpoint_.find(entry.fid);
      if (found != peer_by_endpoint_.end()) found->second->OnConnected();
    } else if (what == FI_SHUTDOWN) {
      ReadCompletions();  // what had arrived before the end counts
      OnConnectionEnd(entry.fid, "it closed the connection");
    }
  }
}

void OfiFabric::OnConnectionRequest(fi_info* info) {
  auto incoming = std::make_unique<OfiIncoming>(this, next_source_++);
  auto endpoint = context_->NewEndpoint(info, nullptr);
  fi_freeinfo(info);
  if (!endpoint.ok()) return;  // the peer learns it by the closed connection
  incoming->endpoint = std::move(*endpoint);
  if (!incoming->Start() || fi_accept(incoming->endpoint.get(), nullptr, 0) != 0) return;
  incoming_by_endpoint_[&incoming->endpoint->fid] = incoming.get();
  incoming_.emplace(incoming->id, std::move(incoming));
}

void OfiFabric::OnConnectionEnd(fid* endpoint, const std::string& reason) {
  if (const auto found = peer_by_endpoint_.find(endpoint); found != peer_by_endpoint_.end()) {
    return found->second->Lost(reason);
  }
  const auto found = incoming_by_endpoint_.find(endpoint);
  if (found == incoming_by_endpoint_.end()) return;
  OfiIncoming* const incoming = found->second;
  incoming->lost = true;
  if (incoming->peer != nullptr) return incoming->peer->Lost(reason);
  // Kept: a link made later learns from it that its peer is gone, and completions may still come.
  incoming->Close();
}

void OfiFabric::OnFrame(OfiIncoming* incoming, absl::Span<const std::byte> bytes) {
  FrameHeader header;
  if (bytes.size() < sizeof(header)) return OnConnectionEnd(&incoming->endpoint->fid, "bad frame");
  std::memcpy(&header, bytes.data(), sizeof(header));
  const absl::Span<const std::byte> payload = bytes.subspan(sizeof(header));
  if (header.kind == static_cast<uint8_t>(FrameKind::kHello)) {
    incoming->said_hello = true;
    sink_->OnFrame(header, payload, incoming->id);
  } else if (header.kind == static_cast<uint8_t>(FrameKind::kBulk)) {
    OnAnnounced(incoming, header, payload);
  } else if (header.kind == kClearFrame) {
    if (incoming->peer != nullptr) incoming->peer->OnClear(payload);
  } else if (header.kind == kLandedFrame) {
    if (incoming->peer != nullptr) incoming->peer->OnLanded(header.value);
  } else {
    sink_->OnFrame(header, payload, incoming->id);
  }
}

void OfiFabric::OnAnnounced(OfiIncoming* incoming, const FrameHeader& header,
                            absl::Span<const std::byte> payload) {
  AnnouncePayload announce;
  if (payload.size() != sizeof(announce)) {
    return OnConnectionEnd(&incoming->endpoint->fid, "it sent a malformed frame");
  }
  std::memcpy(&announce, payload.data(), sizeof(announce));
  const messaging::BulkId bulk = next_bulk_++;
  announced_[bulk] = {incoming->id, announce.number};
  if (!sink_->OnBulk(header, announce.bytes, bulk)) announced_.erase(bulk);
}

bool OfiFabric::ReportBroken() {
  if (broken_.empty()) return false;
  for (OfiPeer* peer : std::exchange(broken_, {})) sink_->OnBroken(peer, peer->status_);
  return true;
}

}  // namespace phalanx::ofi
