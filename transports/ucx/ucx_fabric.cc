#include "ucx_fabric.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "ucx_peer.h"

namespace phalanx::ucx {

using messaging::FabricEvents;
using messaging::FabricPeer;
using messaging::FrameHeader;

UcxFabric::UcxFabric(std::unique_ptr<UcxContext> context) : context_(std::move(context)) {}

absl::Status UcxFabric::Listen() {
  ucp_am_handler_param_t param = {};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = 0;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = &UcxFabric::OnMessage;
  param.arg = this;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(context_->worker(), &param);
  if (status == UCS_OK) return context_->Listen(&UcxFabric::OnRequest, this);
  return absl::UnimplementedError(
      absl::StrCat("ucx: no active messages: ", ucs_status_string(status)));
}

UcxFabric::~UcxFabric() {
  for (const auto& peer : peers_) peer->Break(absl::CancelledError("the wire was destroyed"));
  for (const auto& [id, incoming] : incoming_) incoming->Close();
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(500));
  const auto busy = [](const auto& peer) { return peer->busy(); };
  while (std::any_of(peers_.begin(), peers_.end(), busy)) {
    const Clock::time_point now = Clock::now();
    if (deadline.Passed(now)) break;
    if (ucp_worker_progress(context_->worker()) != 0 || !Arm()) continue;
    pollfd wakes{event_fd(), POLLIN, 0};
    poll(&wakes, 1, deadline.LeftMs(now, 10));
  }
}

FabricPeer* UcxFabric::Open(int rank, const std::string& address, absl::Status* why) {
  auto peer = std::make_unique<UcxPeer>(this, rank);
  *why = peer->Create(address);
  if (!why->ok()) return nullptr;
  return peers_.emplace_back(std::move(peer)).get();
}

bool UcxFabric::Progress(FabricEvents* events) {
  events_ = events;
  inside_ = true;
  bool moved = ucp_worker_progress(context_->worker()) != 0;
  inside_ = false;
  moved = AcceptRequests() || moved;
  moved = CarryOutDecisions() || moved;
  moved = BreakRequested() || moved;
  moved = DropLost() || moved;
  moved = ReportBroken(events) || moved;
  events_ = nullptr;
  return moved;
}

bool UcxFabric::Arm() {
  if (!broken_.empty() || !to_break_.empty() || !decisions_.empty() || !requests_.empty() ||
      !lost_.empty())
    return false;
  return ucp_worker_arm(context_->worker()) == UCS_OK;
}

UcxFabric::Operation* UcxFabric::NewOperation(UcxPeer* peer, spi::Transfer* transfer) {
  if (free_operations_.empty()) {
    free_operations_.push_back(operations_.emplace_back(std::make_unique<Operation>()).get());
  }
  Operation* const operation = free_operations_.back();
  free_operations_.pop_back();
  operation->peer = peer;
  operation->transfer = transfer;
  ++peer->in_flight_;
  return operation;
}

// `result` of a call that was given `operation` as its user data.
void UcxFabric::Started(Operation* operation, ucs_status_ptr_t result) {
  if (UCS_PTR_IS_PTR(result)) return;  // the callback will come
  EndOperation(operation, UCS_PTR_RAW_STATUS(result));
}

void UcxFabric::EndOperation(Operation* operation, ucs_status_t status) {
  UcxPeer* const peer = operation->peer;
  spi::Transfer* const transfer = operation->transfer;
  free_operations_.push_back(operation);
  --peer->in_flight_;
  if (status != UCS_OK) peer->Lost(status);
  if (transfer != nullptr) transfer->Finish(status == UCS_OK ? absl::OkStatus() : peer->status_);
}

void UcxFabric::OnSent(void* request, ucs_status_t status, void* operation) {
  auto* const ended = static_cast<Operation*>(operation);
  ended->peer->fabric_->EndOperation(ended, status);
  ucp_request_free(request);
}

void UcxFabric::OnReceived(void* request, ucs_status_t status, size_t, void* operation) {
  OnSent(request, status, operation);
}

ucs_status_t UcxFabric::OnMessage(void* self, const void* header, size_t header_length, void* data,
                                  size_t length, const ucp_am_recv_param_t* param) {
  auto* const fabric = static_cast<UcxFabric*>(self);
  const bool bulk = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  FrameHeader frame;
  if (header_length == sizeof(frame) && fabric->events_ != nullptr) {
    std::memcpy(&frame, header, sizeof(frame));
    if (!bulk) {
      fabric->events_->OnFrame(frame,
                               absl::MakeConstSpan(static_cast<const std::byte*>(data), length),
                               fabric->SourceOf(*param));
      return UCS_OK;
    }
    if (fabric->events_->OnBulk(frame, length, reinterpret_cast<messaging::BulkId>(data))) {
      return UCS_INPROGRESS;
    }
  }
  return UCS_OK;  // a bulk message that nobody wants: UCX tells its sender
}

bool UcxFabric::CarryOutDecisions() {
  if (decisions_.empty()) return false;
  for (const Decision& decision : std::exchange(decisions_, {})) {
    if (decision.peer == nullptr) {
      ucp_am_data_release(context_->worker(), decision.description);
      continue;
    }
    UcxPeer* const peer = decision.peer;
    Operation* const operation = NewOperation(peer, decision.transfer);
    --peer->in_flight_;  // counted when it was accepted
    if (!peer->status_.ok()) {
      ucp_am_data_release(context_->worker(), decision.description);
      EndOperation(operation, UCS_ERR_CANCELED);
      continue;
    }
    ucp_request_param_t param = {};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = &UcxFabric::OnReceived;
    param.user_data = operation;
    Started(operation,
            ucp_am_recv_data_nbx(context_->worker(), decision.description,
                                 decision.destination.data(), decision.destination.size(), &param));
  }
  return true;
}

bool UcxFabric::BreakRequested() {
  if (to_break_.empty()) return false;
  for (UcxPeer* peer : std::exchange(to_break_, {})) peer->Break(peer->status_);
  return true;
}

void UcxFabric::OnRequest(ucp_conn_request_h request, void* self) {
  static_cast<UcxFabric*>(self)->requests_.push_back(request);
}

bool UcxFabric::AcceptRequests() {
  if (requests_.empty()) return false;
  for (const ucp_conn_request_h request : std::exchange(requests_, {})) {
    auto incoming = std::make_unique<UcxIncoming>();
    incoming->fabric = this;
    incoming->id = next_source_++;
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.conn_request = request;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = &UcxFabric::OnIncomingError;
    params.err_handler.arg = incoming.get();
    // On failure UCX has rejected the request, and its sender learns it.
    if (ucp_ep_create(context_->worker(), &params, &incoming->endpoint) != UCS_OK) continue;
    by_endpoint_[incoming->endpoint] = incoming.get();
    incoming_.emplace(incoming->id, std::move(incoming));
  }
  return true;
}

// Hellos alone tell their endpoint.
messaging::SourceId UcxFabric::SourceOf(const ucp_am_recv_param_t& param) {
  if ((param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return 0;
  const auto found = by_endpoint_.find(param.reply_ep);
  if (found == by_endpoint_.end()) return 0;
  found->second->said_hello = true;
  return found->second->id;
}

void UcxFabric::OnIncomingError(void* incoming, ucp_ep_h, ucs_status_t status) {
  auto* const lost = static_cast<UcxIncoming*>(incoming);
  lost->lost = true;
  if (lost->peer != nullptr) {
    lost->peer->Lost(status);
  } else {
    lost->fabric->lost_.push_back(lost);
  }
}

bool UcxFabric::DropLost() {
  if (lost_.empty()) return false;
  for (UcxIncoming* lost : std::exchange(lost_, {})) {
    lost->Close();
    // One that has said hello stays known, so that a link made later learns that its peer is gone.
    if (!lost->said_hello) incoming_.erase(lost->id);
  }
  return true;
}

bool UcxFabric::ReportBroken(FabricEvents* events) {
  if (broken_.empty()) return false;
  for (UcxPeer* peer : std::exchange(broken_, {})) events->OnBroken(peer, peer->status_);
  return true;
}

}  // namespace phalanx::ucx
