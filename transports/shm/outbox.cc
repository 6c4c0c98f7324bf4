#include "outbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::shm {

void Outbox::Connect(const PeerSegment* peer, const LinkArea* theirs) {
  peer_ = peer;
  theirs_ = theirs;
  for (int box = kBoxes; box-- > 0;) free_boxes_.push_back(box);
}

void Outbox::Send(const spi::Label& label, absl::Span<const std::byte> bytes,
                  spi::Transfer* transfer) {
  const Waiting message{label, bytes, transfer};
  if (waiting_.empty() && CanList()) {
    List(message);
  } else {
    waiting_.push_back(message);
  }
}

bool Outbox::CanList() const {
  if (theirs_ == nullptr) return false;
  const uint32_t taken = theirs_->taken_messages.load(std::memory_order_seq_cst);
  return listed_count_ - taken < kPlaces;
}

void Outbox::List(const Waiting& message) {
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<uint32_t>(listed_.size()));
    listed_.emplace_back();
  }
  const uint32_t id = free_ids_.back();
  free_ids_.pop_back();
  Listed& listed = listed_[id];
  listed = Listed();
  listed.used = true;
  listed.bytes = message.bytes;
  MessageDescriptor& descriptor = own_->messages[listed_count_ % kPlaces];
  descriptor.id = id;
  descriptor.tag_number = message.label.tag.number;
  descriptor.tag_space = message.label.tag.space;
  descriptor.check = message.label.check;
  descriptor.length = message.bytes.size();
  descriptor.where = 0;
  listed.copied = Copy(message.bytes, &listed, &descriptor);
  if (listed.copied) {
    ++copied_;
  } else {
    listed.transfer = message.transfer;
    ++transfers_;
    if (segment_->Contains(message.bytes.data(), message.bytes.size())) {
      descriptor.kind = MessageKind::kMapped;
      descriptor.where = segment_->OffsetOf(message.bytes.data());
    } else if (theirs_->reads_private_memory.load(std::memory_order_acquire) != 0) {
      descriptor.kind = MessageKind::kAddress;
      descriptor.where = reinterpret_cast<uint64_t>(message.bytes.data());
    } else {
      descriptor.kind = MessageKind::kWindow;
    }
  }
  descriptor.sequence.store(++listed_count_, std::memory_order_seq_cst);
  published_ = true;
  if (listed.copied) message.transfer->Finish(absl::OkStatus());
}

bool Outbox::Copy(absl::Span<const std::byte> bytes, Listed* listed,
                  MessageDescriptor* descriptor) {
  if (copied_ >= kMaxCopied) return false;
  if (bytes.size() <= kTinyBytes) {
    descriptor->kind = MessageKind::kTiny;
    if (!bytes.empty()) std::memcpy(descriptor->tiny, bytes.data(), bytes.size());
    return true;
  }
  if (bytes.size() > kBoxBytes || free_boxes_.empty()) return false;
  listed->box = free_boxes_.back();
  free_boxes_.pop_back();
  std::byte* const box = own_->boxes[listed->box];
  std::memcpy(box, bytes.data(), bytes.size());
  descriptor->kind = MessageKind::kMapped;
  descriptor->where = segment_->OffsetOf(box);
  return true;
}

absl::StatusOr<bool> Outbox::Progress() {
  if (theirs_ == nullptr) return false;
  PHX_ASSIGN_OR_RETURN(bool moved, TakeAcknowledgements());
  PHX_ASSIGN_OR_RETURN(const bool filled, FillWindow());
  moved |= filled;
  while (!waiting_.empty() && CanList()) {
    const Waiting message = waiting_.front();
    waiting_.pop_front();
    List(message);
    moved = true;
  }
  return moved;
}

bool Outbox::HasNews() const {
  if (theirs_ == nullptr) return false;
  const uint64_t next =
      theirs_->acknowledged[acknowledged_count_ % kPlaces].load(std::memory_order_seq_cst);
  return static_cast<uint32_t>(next >> 32) == acknowledged_count_ + 1 ||
         (!waiting_.empty() && CanList()) ||
         theirs_->window_request.load(std::memory_order_seq_cst) != request_seen_ ||
         (!stream_.empty() &&
          filled_ - theirs_->drained_chunks.load(std::memory_order_seq_cst) < kChunks);
}

absl::StatusOr<bool> Outbox::TakeAcknowledgements() {
  bool moved = false;
  while (true) {
    const std::atomic<uint64_t>& word = theirs_->acknowledged[acknowledged_count_ % kPlaces];
    const uint64_t next = word.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(next >> 32) != acknowledged_count_ + 1) break;
    peer_->Acquired(&word);
    const uint32_t id = static_cast<uint32_t>(next);
    if (id >= listed_.size() || !listed_[id].used) {
      return absl::InternalError("it acknowledged a message that it wasn't sent");
    }
    const Listed listed = std::exchange(listed_[id], Listed());
    ++acknowledged_count_;
    free_ids_.push_back(id);
    if (listed.copied) --copied_;
    if (listed.box >= 0) free_boxes_.push_back(listed.box);
    if (listed.transfer != nullptr) {
      --transfers_;
      listed.transfer->Finish(absl::OkStatus());
    }
    moved = true;
  }
  if (moved) {
    own_->taken_acknowledgements.store(acknowledged_count_, std::memory_order_seq_cst);
    published_ = true;
  }
  return moved;
}

absl::StatusOr<bool> Outbox::FillWindow() {
  bool moved = false;
  const uint64_t request = theirs_->window_request.load(std::memory_order_acquire);
  if (request != request_seen_) {
    PHX_RETURN_IF_ERROR(StartStream(request));
    moved = true;
  }
  while (!stream_.empty()) {
    const uint32_t drained = theirs_->drained_chunks.load(std::memory_order_acquire);
    if (filled_ - drained >= kChunks) break;
    peer_->Acquired(&theirs_->drained_chunks);
    const size_t bytes = std::min(stream_.size(), kChunkBytes);
    std::memcpy(window_ + (filled_ % kChunks) * kChunkBytes, stream_.data(), bytes);
    stream_.remove_prefix(bytes);
    own_->filled_chunks.store(++filled_, std::memory_order_seq_cst);
    published_ = true;
    moved = true;
  }
  return moved;
}

absl::Status Outbox::StartStream(uint64_t request) {
  const uint32_t id = static_cast<uint32_t>(request);
  if (id >= listed_.size() || !listed_[id].used || listed_[id].transfer == nullptr) {
    return absl::InternalError("it asked for a message that it wasn't sent");
  }
  if (window_ == nullptr) {
    PHX_ASSIGN_OR_RETURN(window_, segment_->Allocate(kChunks * kChunkBytes, /*zeroed=*/false));
    own_->window_offset = segment_->OffsetOf(window_);
  }
  request_seen_ = request;
  stream_ = listed_[id].bytes;
  return absl::OkStatus();
}

void Outbox::Fail(const absl::Status& status) {
  stream_ = {};
  transfers_ = 0;
  std::deque<Waiting> waiting = std::exchange(waiting_, {});
  for (Listed& listed : listed_) {
    if (listed.transfer != nullptr) std::exchange(listed.transfer, nullptr)->Finish(status);
  }
  for (const Waiting& message : waiting) message.transfer->Finish(status);
}

}  // namespace phalanx::shm
