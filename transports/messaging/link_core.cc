#include "messaging/link_core.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace phalanx::messaging {

LinkCore::LinkCore(int rank, FabricPeer* peer, size_t eager_bytes)
    : rank_(rank), peer_(peer), eager_bytes_(eager_bytes) {}

void LinkCore::Send(const spi::Label& label, absl::Span<const std::byte> bytes,
                    spi::Transfer* transfer) {
  transfer->Begin();
  if (!status_.ok() || !closed_.ok()) {
    transfer->Finish(status_.ok() ? closed_ : status_);
    return;
  }
  const Queued message{label, bytes, transfer};
  if (open_ && stalled_ && wanted_.erase(label.tag) > 0) return Start(message, /*credited=*/false);
  if (open_ && queue_.empty() && outstanding_ + Cost(bytes.size()) <= kWindowBytes) {
    return Start(message, /*credited=*/true);
  }
  queue_.push_back(message);
  PHX_CHECK_MSG(queued_.emplace(label.tag, std::prev(queue_.end())).second,
                "tag already in flight");
  if (open_ && !stalled_) {
    stalled_ = true;
    SendControl(FrameKind::kStalled);
  }
}

void LinkCore::Start(const Queued& message, bool credited) {
  const bool eager = message.bytes.size() <= eager_bytes_;
  FrameHeader header;
  header.kind = static_cast<uint8_t>(eager ? FrameKind::kEager : FrameKind::kBulk);
  header.credited = credited ? 1 : 0;
  header.key = key_;
  header.check = message.label.check;
  header.value = message.label.tag.number;
  header.space = message.label.tag.space;
  if (credited) outstanding_ += Cost(message.bytes.size());
  if (eager) {
    peer_->SendEager(header, message.bytes, message.transfer);
  } else {
    peer_->SendBulk(header, message.bytes, message.transfer);
  }
}

void LinkCore::StartQueued() {
  while (!queue_.empty() && outstanding_ + Cost(queue_.front().bytes.size()) <= kWindowBytes) {
    const Queued message = queue_.front();
    queued_.erase(message.label.tag);
    queue_.pop_front();
    Start(message, /*credited=*/true);
  }
  const bool stalled = !queue_.empty();
  if (stalled == stalled_) return;
  stalled_ = stalled;
  wanted_.clear();
  SendControl(stalled ? FrameKind::kStalled : FrameKind::kFlowing);
}

void LinkCore::SetKey(uint64_t key) { key_ = key; }

void LinkCore::Open() {
  PHX_CHECK(!open_);
  if (!status_.ok()) return;
  open_ = true;
  StartQueued();
}

void LinkCore::Receive(const spi::Label& label, absl::Span<std::byte> bytes,
                       spi::Transfer* transfer) {
  transfer->Begin();
  if (!status_.ok()) return transfer->Finish(status_);
  const Posted posted{label.check, bytes, transfer};
  const auto found = unexpected_.find(label.tag);
  if (found == unexpected_.end()) {
    if (!closed_.ok()) return transfer->Finish(closed_);
    PHX_CHECK_MSG(posted_.emplace(label.tag, posted).second, "tag already in flight");
    if (peer_stalled_) SendControl(FrameKind::kWanted, label.tag);
    return;
  }
  if (Refuse(found->second.check, found->second.bytes, posted)) return;
  const Unexpected message = std::move(found->second);
  unexpected_.erase(found);
  if (message.bulk) {
    peer_->AcceptBulk(message.id, bytes, transfer);
  } else {
    if (!bytes.empty()) std::memcpy(bytes.data(), message.payload.data(), bytes.size());
    transfer->Finish(absl::OkStatus());
  }
  ReturnCredit(message.bytes, message.credited);
}

void LinkCore::OnEager(const spi::Label& label, absl::Span<const std::byte> payload,
                       bool credited) {
  if (!status_.ok() || RefuseDuplicate(label.tag)) return;
  const auto found = posted_.find(label.tag);
  if (found == posted_.end()) {
    Unexpected& message = unexpected_[label.tag];
    message.check = label.check;
    message.bytes = payload.size();
    message.credited = credited;
    message.payload.assign(payload.begin(), payload.end());
    return;
  }
  const Posted posted = found->second;
  posted_.erase(found);
  if (Refuse(label.check, payload.size(), posted)) return;
  if (!payload.empty()) std::memcpy(posted.bytes.data(), payload.data(), payload.size());
  ReturnCredit(payload.size(), credited);
  posted.transfer->Finish(absl::OkStatus());
}

bool LinkCore::OnBulk(const spi::Label& label, size_t bytes, BulkId bulk, bool credited) {
  if (!status_.ok() || RefuseDuplicate(label.tag)) return false;
  const auto found = posted_.find(label.tag);
  if (found == posted_.end()) {
    Unexpected& message = unexpected_[label.tag];
    message.check = label.check;
    message.bytes = bytes;
    message.credited = credited;
    message.bulk = true;
    message.id = bulk;
    return true;
  }
  const Posted posted = found->second;
  posted_.erase(found);
  if (Refuse(label.check, bytes, posted)) return false;
  peer_->AcceptBulk(bulk, posted.bytes, posted.transfer);
  ReturnCredit(bytes, credited);
  return true;
}

void LinkCore::OnControl(FrameKind kind, const spi::MessageTag& value) {
  if (!status_.ok()) return;
  switch (kind) {
    case FrameKind::kCredit:
      outstanding_ -= std::min(value.number, outstanding_);
      if (stalled_) StartQueued();
      return;
    case FrameKind::kStalled:
      peer_stalled_ = true;
      for (const auto& [tag, posted] : posted_) SendControl(FrameKind::kWanted, tag);
      return;
    case FrameKind::kWanted:
      return OnWanted(value);
    case FrameKind::kFlowing:
      peer_stalled_ = false;
      return;
    case FrameKind::kRefused:
      return Fail(absl::InvalidArgumentError(absl::StrCat(
          "rank ", rank_,
          value.number == static_cast<uint64_t>(RefusalReason::kCheck)
              ? " refused a message of ours: it belongs to another operation there"
              : " received a message of another length than it expects; its count or type "
                "differs")));
    case FrameKind::kHello:
    case FrameKind::kEager:
    case FrameKind::kBulk:
    case FrameKind::kBye:
    case FrameKind::kByeSeen:
    case FrameKind::kWelcome:
      return;
  }
}

void LinkCore::OnWanted(const spi::MessageTag& tag) {
  if (!stalled_) return;  // it crossed our kFlowing; the message is on its way or will go at once
  const auto found = queued_.find(tag);
  if (found == queued_.end()) {
    wanted_.insert(tag);
    return;
  }
  const Queued message = *found->second;
  queue_.erase(found->second);
  queued_.erase(found);
  Start(message, /*credited=*/false);
  if (queue_.empty()) StartQueued();
}

void LinkCore::ReturnCredit(size_t bytes, bool credited) {
  if (!credited) return;
  owed_ += Cost(bytes);
  if (owed_ < kWindowBytes / 4) return;
  SendControl(FrameKind::kCredit, {owed_});
  owed_ = 0;
}

bool LinkCore::Refuse(uint32_t message_check, size_t message_bytes, const Posted& posted) {
  if (message_check != posted.check) {
    EndRefused(RefusalReason::kCheck, spi::OtherOperation(rank_));
  } else if (message_bytes != posted.bytes.size()) {
    EndRefused(RefusalReason::kLength,
               absl::InvalidArgumentError(
                   absl::StrCat("rank ", rank_, " sent ", message_bytes, " bytes where ",
                                posted.bytes.size(), " were expected; its count or type differs")));
  } else {
    return false;
  }
  posted.transfer->Finish(status_);
  return true;
}

bool LinkCore::RefuseDuplicate(const spi::MessageTag& tag) {
  if (!unexpected_.contains(tag)) return false;
  EndRefused(RefusalReason::kDuplicate, absl::InvalidArgumentError(absl::StrCat(
                                            "rank ", rank_, " sent two messages under one tag")));
  return true;
}

void LinkCore::EndRefused(RefusalReason reason, const absl::Status& status) {
  SendControl(FrameKind::kRefused, {static_cast<uint64_t>(reason)});
  Fail(status);
}

void LinkCore::Fail(const absl::Status& status) {
  if (!status_.ok()) return;
  status_ = status;
  for (auto& [tag, message] : std::exchange(unexpected_, {})) {
    if (message.bulk) peer_->DropBulk(message.id);
  }
  for (auto& [tag, posted] : std::exchange(posted_, {})) posted.transfer->Finish(status_);
  queued_.clear();
  for (const Queued& message : std::exchange(queue_, {})) message.transfer->Finish(status_);
}

void LinkCore::PeerClosed() {
  if (!status_.ok() || !closed_.ok()) return;
  closed_ = absl::UnavailableError(absl::StrCat("rank ", rank_, " has closed its end in order"));
  for (auto& [tag, posted] : std::exchange(posted_, {})) posted.transfer->Finish(closed_);
  queued_.clear();
  for (const Queued& message : std::exchange(queue_, {})) message.transfer->Finish(closed_);
}

void LinkCore::SendControl(FrameKind kind, const spi::MessageTag& value) {
  FrameHeader header;
  header.kind = static_cast<uint8_t>(kind);
  header.key = key_;
  header.value = value.number;
  header.space = value.space;
  peer_->SendEager(header, {}, nullptr);
}

}  // namespace phalanx::messaging
