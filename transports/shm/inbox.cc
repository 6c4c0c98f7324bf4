#include "inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace phalanx::shm {

void Inbox::Connect(const PeerSegment* peer, const LinkArea* theirs) {
  peer_ = peer;
  theirs_ = theirs;
}

absl::Status Inbox::Receive(const spi::Label& label, absl::Span<std::byte> bytes,
                            spi::Transfer* transfer) {
  const auto found = unexpected_.find(label.tag);
  if (found == unexpected_.end()) {
    const bool added = posted_.emplace(label.tag, Posted{label.check, bytes, transfer}).second;
    PHX_CHECK_MSG(added, "two receives of one tag are in flight");
    return absl::OkStatus();
  }
  const Message message = found->second;
  unexpected_.erase(found);
  return Match(message, {label.check, bytes, transfer});
}

absl::StatusOr<bool> Inbox::Progress(size_t budget) {
  if (theirs_ == nullptr) return false;
  PHX_ASSIGN_OR_RETURN(bool moved, TakeListed());
  moved |= ShowAcknowledgements();
  for (size_t i = 0; i < fetches_.size() && budget > 0;) {
    PHX_ASSIGN_OR_RETURN(const bool advanced, Advance(&fetches_[i], &budget));
    moved |= advanced;
    Fetch& fetch = fetches_[i];
    if (fetch.done < fetch.message.length) {
      ++i;
      continue;
    }
    // The sender may have given up and reused its buffer while we read it.
    PHX_RETURN_IF_ERROR(StillIntact());
    if (streaming_ && streaming_id_ == fetch.message.id) streaming_ = false;
    Acknowledge(fetch.message.id);
    spi::Transfer* const transfer = fetch.posted.transfer;
    fetches_.erase(fetches_.begin() + static_cast<std::ptrdiff_t>(i));
    transfer->Finish(absl::OkStatus());
    moved = true;
  }
  return moved;
}

bool Inbox::HasNews() const {
  if (theirs_ == nullptr) return false;
  const MessageDescriptor& next = theirs_->messages[taken_count_ % kPlaces];
  if (next.sequence.load(std::memory_order_seq_cst) == taken_count_ + 1) return true;
  if (!done_ids_.empty()) return true;
  for (const Fetch& fetch : fetches_) {
    if (fetch.message.kind != MessageKind::kWindow || !streaming_) return true;
  }
  return streaming_ && theirs_->filled_chunks.load(std::memory_order_seq_cst) != drained_;
}

absl::StatusOr<bool> Inbox::TakeListed() {
  bool moved = false;
  while (true) {
    const MessageDescriptor& next = theirs_->messages[taken_count_ % kPlaces];
    if (next.sequence.load(std::memory_order_acquire) != taken_count_ + 1) break;
    peer_->Acquired(&next.sequence);
    Message message{next.check, next.id, next.kind, next.length, next.where, {}};
    const spi::MessageTag tag{next.tag_number, next.tag_space};
    std::memcpy(message.tiny, next.tiny, kTinyBytes);
    const bool sound =
        message.kind <= MessageKind::kWindow &&
        (message.kind != MessageKind::kTiny || message.length <= kTinyBytes) &&
        (message.kind != MessageKind::kMapped || peer_->At(message.where, message.length));
    if (!sound) return absl::InternalError("it listed a message that makes no sense");
    ++taken_count_;
    moved = true;
    const auto found = posted_.find(tag);
    if (found != posted_.end()) {
      const Posted posted = found->second;
      posted_.erase(found);
      PHX_RETURN_IF_ERROR(Match(message, posted));
    } else if (!unexpected_.emplace(tag, message).second) {
      return absl::InternalError("it sent two messages of one tag at once");
    }
  }
  if (moved) {
    own_->taken_messages.store(taken_count_, std::memory_order_seq_cst);
    published_ = true;
  }
  return moved;
}

absl::Status Inbox::Match(const Message& message, const Posted& posted) {
  if (message.check != posted.check || message.length != posted.bytes.size()) {
    absl::Status status = message.check != posted.check
                              ? spi::OtherOperation(peer_rank_)
                              : absl::InvalidArgumentError(
                                    absl::StrCat("its message has ", message.length, " bytes, ",
                                                 posted.bytes.size(), " were expected"));
    posted.transfer->Finish(status);
    return status;
  }
  if (message.kind == MessageKind::kTiny) {
    if (message.length > 0) std::memcpy(posted.bytes.data(), message.tiny, message.length);
    Acknowledge(message.id);
    posted.transfer->Finish(absl::OkStatus());
    return absl::OkStatus();
  }
  fetches_.push_back({message, posted, 0});
  return absl::OkStatus();
}

absl::StatusOr<bool> Inbox::Advance(Fetch* fetch, size_t* budget) {
  const Message& message = fetch->message;
  if (message.kind == MessageKind::kWindow) {
    if (!streaming_) {
      streaming_ = true;
      streaming_id_ = message.id;
      own_->window_request.store(uint64_t{++requests_} << 32 | message.id,
                                 std::memory_order_seq_cst);
      published_ = true;
      return true;
    }
    return streaming_id_ == message.id && DrainWindow(fetch, budget);
  }
  const size_t bytes = std::min<size_t>(*budget, message.length - fetch->done);
  PHX_RETURN_IF_ERROR(Copy(message, fetch->done, fetch->posted.bytes.subspan(fetch->done, bytes)));
  fetch->done += bytes;
  *budget -= bytes;
  return true;
}

absl::Status Inbox::Copy(const Message& message, size_t from, absl::Span<std::byte> to) const {
  if (message.kind == MessageKind::kAddress) {
    return peer_->ReadPrivate(message.where + from, to.size(), to.data());
  }
  std::memcpy(to.data(), peer_->At(message.where + from, to.size()), to.size());
  return absl::OkStatus();
}

bool Inbox::DrainWindow(Fetch* fetch, size_t* budget) {
  bool moved = false;
  while (*budget > 0 && fetch->done < fetch->message.length) {
    if (theirs_->filled_chunks.load(std::memory_order_acquire) == drained_) break;
    peer_->Acquired(&theirs_->filled_chunks);
    const size_t bytes = std::min<size_t>(kChunkBytes, fetch->message.length - fetch->done);
    const std::byte* const chunk =
        peer_->At(theirs_->window_offset + (drained_ % kChunks) * kChunkBytes, bytes);
    if (chunk == nullptr) break;  // it makes no sense; the message never ends, the peer's doing
    std::memcpy(fetch->posted.bytes.data() + fetch->done, chunk, bytes);
    fetch->done += bytes;
    *budget -= std::min(*budget, bytes);
    own_->drained_chunks.store(++drained_, std::memory_order_seq_cst);
    published_ = true;
    moved = true;
  }
  return moved;
}

absl::Status Inbox::StillIntact() const {
  if (LoadAfterReads(theirs_->end) < LinkEnd::kRefused) return absl::OkStatus();
  return absl::UnavailableError("it has given up its transfers");
}

void Inbox::Acknowledge(uint32_t id) {
  done_ids_.push_back(id);
  ShowAcknowledgements();
}

bool Inbox::ShowAcknowledgements() {
  bool shown = false;
  while (!done_ids_.empty() &&
         acknowledged_count_ - theirs_->taken_acknowledgements.load(std::memory_order_seq_cst) <
             kPlaces) {
    std::atomic<uint64_t>& word = own_->acknowledged[acknowledged_count_ % kPlaces];
    word.store(uint64_t{++acknowledged_count_} << 32 | done_ids_.front(),
               std::memory_order_seq_cst);
    done_ids_.pop_front();
    published_ = true;
    shown = true;
  }
  return shown;
}

void Inbox::Fail(const absl::Status& status) {
  const std::deque<Fetch> fetches = std::exchange(fetches_, {});
  for (const Fetch& fetch : fetches) fetch.posted.transfer->Finish(status);
  FailUnmatched(status);
}

void Inbox::FailUnmatched(const absl::Status& status) {
  const absl::flat_hash_map<spi::MessageTag, Posted> posted = std::exchange(posted_, {});
  for (const auto& [tag, receive] : posted) receive.transfer->Finish(status);
}

}  // namespace phalanx::shm
