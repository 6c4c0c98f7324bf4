#include "ucx_peer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "messaging/local_address.h"

namespace phalanx::ucx {

using messaging::BulkId;
using messaging::FrameHeader;

namespace {

// Without waiting: what the endpoint has in flight ends with an error. Not from within a callback.
void CloseEndpoint(ucp_ep_h* endpoint) {
  if (*endpoint == nullptr) return;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t result = ucp_ep_close_nbx(std::exchange(*endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(result)) ucp_request_free(result);
}

}  // namespace

void UcxIncoming::Close() {
  fabric->by_endpoint_.erase(endpoint);
  CloseEndpoint(&endpoint);
}

absl::Status UcxPeer::Create(const std::string& address) {
  sockaddr_storage remote = {};
  if (address.size() > sizeof(remote)) return absl::InvalidArgumentError("ucx: not an address");
  std::memcpy(&remote, address.data(), address.size());
  if (address.empty() || messaging::AddressLength(remote) != address.size()) {
    return absl::InvalidArgumentError("ucx: not an address");
  }
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr.addr = reinterpret_cast<const sockaddr*>(&remote);
  params.sockaddr.addrlen = messaging::AddressLength(remote);
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxPeer::OnEndpointError;
  params.err_handler.arg = this;
  const ucs_status_t status = ucp_ep_create(fabric_->context_->worker(), &params, &endpoint_);
  if (status == UCS_OK) return absl::OkStatus();
  endpoint_ = nullptr;
  return absl::UnavailableError(
      absl::StrCat("ucx: no way to rank ", rank_, ": ", ucs_status_string(status)));
}

void UcxPeer::Send(const FrameHeader& header, absl::Span<const std::byte> payload,
                   spi::Transfer* transfer, unsigned flags) {
  if (!status_.ok() || endpoint_ == nullptr) {
    if (transfer != nullptr) transfer->Finish(status_);
    return;
  }
  UcxFabric::Operation* const operation = fabric_->NewOperation(this, transfer);
  operation->header = header;
  const std::byte* data = payload.data();
  if (transfer == nullptr && !payload.empty()) {
    PHX_CHECK(payload.size() <= kCopiedBytes);
    std::memcpy(operation->copied, payload.data(), payload.size());
    data = operation->copied;
  }
  ucp_request_param_t param = {};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  param.cb.send = &UcxFabric::OnSent;
  param.user_data = operation;
  fabric_->Started(operation, ucp_am_send_nbx(endpoint_, 0, &operation->header, sizeof(FrameHeader),
                                              data, payload.size(), &param));
}

void UcxPeer::SendEager(const FrameHeader& header, absl::Span<const std::byte> payload,
                        spi::Transfer* transfer) {
  const bool hello = header.kind == static_cast<uint8_t>(messaging::FrameKind::kHello);
  // A hello lets the receiver see its endpoint, to bind it to our rank.
  Send(header, payload, transfer, UCP_AM_SEND_FLAG_EAGER | (hello ? UCP_AM_SEND_FLAG_REPLY : 0));
}

void UcxPeer::SendBulk(const FrameHeader& header, absl::Span<const std::byte> payload,
                       spi::Transfer* transfer) {
  Send(header, payload, transfer, UCP_AM_SEND_FLAG_RNDV);
}

void UcxPeer::AcceptBulk(BulkId bulk, absl::Span<std::byte> destination, spi::Transfer* transfer) {
  ++in_flight_;  // its operation takes this over
  fabric_->decisions_.push_back({this, reinterpret_cast<void*>(bulk), destination, transfer});
  if (!fabric_->inside_) fabric_->CarryOutDecisions();
}

void UcxPeer::DropBulk(BulkId bulk) {
  fabric_->decisions_.push_back({nullptr, reinterpret_cast<void*>(bulk), {}, nullptr});
  if (!fabric_->inside_) fabric_->CarryOutDecisions();
}

void UcxPeer::BindSource(messaging::SourceId source) {
  const auto found = fabric_->incoming_.find(source);
  if (found == fabric_->incoming_.end()) return Lost(UCS_ERR_CONNECTION_RESET);
  incoming_ = found->second.get();
  incoming_->peer = this;
  if (incoming_->lost) Lost(UCS_ERR_CONNECTION_RESET);
}

void UcxPeer::Lost(ucs_status_t reason) {
  if (!status_.ok()) return;
  status_ = absl::UnavailableError(
      absl::StrCat("ucx: rank ", rank_, " is gone (", ucs_status_string(reason), ")"));
  fabric_->broken_.push_back(this);
}

void UcxPeer::OnEndpointError(void* self, ucp_ep_h, ucs_status_t status) {
  static_cast<UcxPeer*>(self)->Lost(status);
}

void UcxPeer::Break(const absl::Status& status) {
  if (status_.ok()) status_ = status;
  if (fabric_->inside_) {
    fabric_->to_break_.push_back(this);
  } else {
    CloseEndpoint(&endpoint_);
    if (incoming_ != nullptr) incoming_->Close();
  }
}

}  // namespace phalanx::ucx
