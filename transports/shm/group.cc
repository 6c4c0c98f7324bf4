#include "group.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "futex.h"
#include "spi/link.h"

namespace phalanx::shm {
namespace {

// Counters that weren't used for this many rounds are brought up to date, long before comparing
// them modulo 2^32 would go wrong.
constexpr int kRefreshShift = 24;
constexpr uint32_t kMaxRounds = 1u << 28;
constexpr size_t kLine = 64;  // bytes

// Fetches the description and the first staged bytes together: a small message would pay for two
// trips to its writer's cache, one after the other.
void PrefetchSlot(const OperationSlot& slot) {
  constexpr size_t kStagedLines = 4;  // then the core's own prefetching takes over
  __builtin_prefetch(&slot.first);
  for (size_t i = 0; i < kStagedLines; ++i) __builtin_prefetch(slot.staged + i * kLine);
}

// Asks for the lines that a small message is about to fill: readers still hold them, and without
// this the stores would fetch them back one after the other.
void PrefetchToWrite(const std::byte* destination, size_t bytes) {
  constexpr size_t kMost = 4096;  // then the copy itself is ahead of the fetches
  for (size_t i = 0; i < std::min(bytes, kMost); i += kLine) {
#if defined(__x86_64__)
    // Every x86-64 knows the instruction or skips it; compilers make it a plain prefetch, which
    // would fetch the line for reading.
    asm volatile("prefetchw %0" : : "m"(destination[i]));
#else
    __builtin_prefetch(destination + i, 1);
#endif
  }
}

}  // namespace

ShmGroup::ShmGroup(Options options)
    : node_(std::move(options.node)),
      rank_(options.rank),
      oversubscribed_(options.oversubscribed),
      own_(options.own),
      members_(std::move(options.members)) {
  raised_.fill(kFirstCount);
  for (Member& member : members_) member.seen.fill(kFirstCount);
}

ShmGroup::~ShmGroup() {
  if (scratch_ != nullptr) node_->segment().Free(scratch_);
  for (const Window& window : windows_) {
    if (window.memory != nullptr) node_->segment().Free(window.memory);
  }
  std::vector<Node::PeerBlock> peers;
  for (const Member& member : members_) {
    if (member.segment != nullptr) peers.push_back({member.block, member.life});
  }
  node_->Retire(own_, std::move(peers));
}

absl::Status ShmGroup::Begin(const spi::GroupOperation& operation) {
  PHX_CHECK_MSG(!open_, "the operation before hasn't ended");
  PHX_CHECK(operation.rounds >= 1 && operation.rounds <= kMaxRounds);
  if (operation.scratch_bytes > scratch_bytes_) {
    if (scratch_ != nullptr) node_->segment().Free(std::exchange(scratch_, nullptr));
    scratch_bytes_ = 0;
    PHX_ASSIGN_OR_RETURN(scratch_, node_->segment().Allocate(operation.scratch_bytes, false));
    scratch_bytes_ = operation.scratch_bytes;
  }
  current_ = operation;
  ++operation_;
  const uint32_t previous_base = base_;
  base_ = next_base_;
  next_base_ = base_ + operation.rounds;
  if ((base_ ^ previous_base) >> kRefreshShift != 0) RefreshCounters();
  staged_bytes_ = 0;
  entered_ = false;
  shown_ = false;
  described_ = false;
  read_in_place_ = false;
  open_ = true;
  return absl::OkStatus();
}

absl::Status ShmGroup::End() {
  Close();
  if (!read_in_place_) return absl::OkStatus();
  // An owner stores its word before it writes over what we read. So if we read a byte of that, the
  // word stands there by now, provided that we look at it after the reads.
  reads_ended_.store(operation_, std::memory_order_seq_cst);
  for (const Member& member : members_) {
    if (member.segment == nullptr || member.block->withdrawn.load(std::memory_order_seq_cst) == 0) {
      continue;
    }
    return absl::AbortedError(absl::StrCat("rank ", member.rank,
                                           " gave up an operation while its memory was read; the "
                                           "result may be wrong and doesn't count"));
  }
  return absl::OkStatus();
}

void ShmGroup::Withdraw() {
  own_->withdrawn.store(1, std::memory_order_seq_cst);
  Close();
}

void ShmGroup::Close() {
  PHX_CHECK(open_);
  if (!entered_) {
    entered_ = true;
    ShowCheck();
    own_->words[kEnteredWord].store(operation_, std::memory_order_seq_cst);
    WakePeers(kEnteredWord, /*entering=*/true);
  }
  open_ = false;
}

// Every operation before this one has ended here, so all that its peers could wait for has been
// raised, and no signal stands above base_.
void ShmGroup::RefreshCounters() {
  for (int i = 0; i < spi::kMaxSignals; ++i) {
    raised_[i] = base_;
    own_->words[i].store(base_, std::memory_order_release);
  }
  for (Member& member : members_) member.seen.fill(base_);
}

uint32_t ShmGroup::LoadWord(const Member& member, int word) const {
  const std::atomic<uint32_t>& shared = member.block->words[word];
  const uint32_t value = shared.load(std::memory_order_seq_cst);
  if (member.segment != nullptr) member.segment->Acquired(&shared);
  return value;
}

bool ShmGroup::Reached(int peer, uint8_t signal, uint32_t round) {
  Member& member = members_[static_cast<size_t>(peer)];
  const uint32_t target = AbsoluteRound(round) + 1;
  if (HasReached(member.seen[signal], target)) return true;
  member.seen[signal] = LoadWord(member, signal);
  if (!HasReached(member.seen[signal], target)) return false;
  if (member.entered != operation_) {
    member.entered = operation_;  // it couldn't have raised a signal of the operation otherwise
    PrefetchSlot(member.block->slots[operation_ % kOperationSlots]);
  }
  return true;
}

bool ShmGroup::EveryPeerReached(uint8_t signal, uint32_t round) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_ && !Reached(peer, signal, round)) return false;
  }
  return true;
}

bool ShmGroup::EveryPeerEntered(uint32_t operation) {
  for (Member& member : members_) {
    if (member.segment == nullptr || HasReached(member.entered, operation)) continue;
    member.entered = LoadWord(member, kEnteredWord);
    if (!HasReached(member.entered, operation)) return false;
  }
  return true;
}

// Fills the operation's slot. False while a peer may still be reading what it held before.
bool ShmGroup::Describe() {
  if (!EveryPeerEntered(operation_ - kOperationSlots + 1) || !LearnsWhatPeersRead()) return false;
  OperationSlot& slot = OwnSlot();
  slot.staged_count.store(0, std::memory_order_relaxed);
  DescribeRegion(Region::kInput, current_.input, current_.input_bytes, &slot);
  DescribeRegion(Region::kOutput, current_.output, current_.output_bytes, &slot);
  DescribeRegion(Region::kScratch, scratch_, current_.scratch_bytes, &slot);
  slot.factor_bits = current_.factor_bits;
  slot.check = current_.check;
  described_ = true;
  return true;
}

// False while a member hasn't attached its peers yet.
bool ShmGroup::LearnsWhatPeersRead() {
  if (private_memory_reads_ != Reads::kUnknown) return true;
  Reads reads = node_->segment().header().reads_private_memory.load(std::memory_order_acquire);
  for (const Member& member : members_) {
    if (member.segment == nullptr) continue;
    reads = std::min(reads,
                     member.segment->header().reads_private_memory.load(std::memory_order_acquire));
  }
  private_memory_reads_ = reads;
  return reads != Reads::kUnknown;
}

void ShmGroup::DescribeRegion(Region region, const std::byte* memory, size_t bytes,
                              OperationSlot* slot) {
  const int i = static_cast<int>(region);
  if (bytes > 0 && node_->segment().Contains(memory, bytes)) {
    slot->kind[i] = RegionKind::kMapped;
    slot->where[i] = node_->segment().OffsetOf(memory);
  } else if (private_memory_reads_ == Reads::kYes) {
    slot->kind[i] = RegionKind::kAddress;
    slot->where[i] = reinterpret_cast<uint64_t>(memory);
  } else {
    slot->kind[i] = RegionKind::kWindow;
    slot->where[i] = 0;
  }
}

std::pair<const std::byte*, size_t> ShmGroup::OwnRegion(Region region) const {
  switch (region) {
    case Region::kInput:
      return {current_.input, current_.input_bytes};
    case Region::kOutput:
      return {current_.output, current_.output_bytes};
    case Region::kScratch:
      return {scratch_, current_.scratch_bytes};
  }
  return {nullptr, 0};
}

PackedRanges ShmGroup::RangesOf(const spi::Publish& publish) const {
  PackedRanges ranges{publish.offset, publish.stride, publish.bytes, publish.ranges};
  const size_t end = OwnRegion(publish.region).second;
  if (publish.bytes == 0 || publish.offset >= end) {
    ranges.count = 0;
  } else if (publish.ranges > 1 && publish.stride > 0) {
    const size_t starts = (end - publish.offset - 1) / publish.stride + 1;
    ranges.count = static_cast<uint32_t>(std::min<size_t>(publish.ranges, starts));
  }
  return ranges;
}

// The last range may be cut off by the region's end.
size_t ShmGroup::PackedBytes(const PackedRanges& ranges, Region region) const {
  if (ranges.count == 0) return 0;
  const uint64_t last = ranges.offset + (ranges.count - 1) * ranges.stride;
  return (ranges.count - 1) * ranges.bytes +
         std::min<uint64_t>(ranges.bytes, OwnRegion(region).second - last);
}

void ShmGroup::Pack(const PackedRanges& ranges, Region region, std::byte* destination) const {
  const auto [memory, end] = OwnRegion(region);
  for (uint32_t i = 0; i < ranges.count; ++i) {
    const uint64_t start = ranges.offset + i * ranges.stride;
    std::memcpy(destination + i * ranges.bytes, memory + start,
                std::min<uint64_t>(ranges.bytes, end - start));
  }
}

bool ShmGroup::TryPublish(const spi::Publish& publish) {
  PHX_CHECK(open_);
  if (!described_ && !Describe()) return false;
  uint32_t target = AbsoluteRound(publish.round) + 1;
  if (publish.publication == spi::Publication::kStaged) {
    Stage(publish);
  } else if (OwnSlot().kind[static_cast<int>(publish.region)] == RegionKind::kWindow) {
    if (!TryFillWindow(publish)) return false;
  } else if (publish.region == Region::kInput) {
    target = next_base_;  // it is all there: say so once
  }
  RaiseTo(publish.signal, target);
  return true;
}

void ShmGroup::Stage(const spi::Publish& publish) {
  const PackedRanges ranges = RangesOf(publish);
  const size_t bytes = PackedBytes(ranges, publish.region);
  if (bytes == 0) return;
  PHX_CHECK(bytes <= spi::kMaxStagedBytes - staged_bytes_);
  OperationSlot& slot = OwnSlot();
  const uint32_t count = slot.staged_count.load(std::memory_order_relaxed);
  PHX_CHECK(count < static_cast<uint32_t>(spi::kMaxStagedPublications));
  PrefetchToWrite(slot.staged + staged_bytes_, bytes);
  Pack(ranges, publish.region, slot.staged + staged_bytes_);
  StagedRanges& staged = slot.staged_ranges(count);
  staged.ranges = ranges;
  staged.position = static_cast<uint32_t>(staged_bytes_);
  staged.region = publish.region;
  staged.round = AbsoluteRound(publish.round);
  slot.staged_count.store(count + 1, std::memory_order_release);
  staged_bytes_ += bytes;
}

// Copies a round's ranges of private memory to where readers can get at them. False while they are
// reading what lies there, or when there is no memory for it.
bool ShmGroup::TryFillWindow(const spi::Publish& publish) {
  const PackedRanges ranges = RangesOf(publish);
  const size_t bytes = PackedBytes(ranges, publish.region);
  if (bytes == 0) return true;
  if (publish.round >= kWindowChunks &&
      !EveryPeerReached(publish.acknowledged, publish.round - kWindowChunks)) {
    return false;
  }
  const Window& window = windows_[static_cast<size_t>(publish.region)];
  const bool fits =
      bytes <= window.chunk_bytes && window.chunks >= std::min(current_.rounds, kWindowChunks);
  if (!fits && !TryGrowWindow(publish, bytes)) return false;
  const uint32_t index = publish.round % kWindowChunks;
  std::byte* const memory = window.memory + index * window.chunk_bytes;
  WindowChunk& chunk = own_->windows[static_cast<size_t>(publish.region)][index];
  chunk.key.store(0, std::memory_order_relaxed);
  Pack(ranges, publish.region, memory);
  chunk.ranges = ranges;
  chunk.position = node_->segment().OffsetOf(memory);
  chunk.key.store(WindowKey(AbsoluteRound(publish.round)), std::memory_order_release);
  return true;
}

bool ShmGroup::TryGrowWindow(const spi::Publish& publish, size_t chunk_bytes) {
  // The old memory goes only when nobody reads it: rounds of earlier operations were acknowledged
  // before those ended.
  if (publish.round > 0 && !EveryPeerReached(publish.acknowledged, publish.round - 1)) return false;
  Window& window = windows_[static_cast<size_t>(publish.region)];
  if (window.memory != nullptr) node_->segment().Free(window.memory);
  chunk_bytes = std::max(chunk_bytes, window.chunk_bytes);
  const uint32_t chunks = std::min(current_.rounds, kWindowChunks);
  window = Window();
  absl::StatusOr<std::byte*> memory = node_->segment().Allocate(chunk_bytes * chunks, false);
  if (!memory.ok()) {
    if (!std::exchange(window_refused_, true)) {
      node_->logger().Error(absl::StrCat(
          "rank ", node_->own_rank(),
          ": no room to copy a private buffer for its readers: ", memory.status().message()));
    }
    return false;
  }
  window = {*memory, chunk_bytes, chunks};
  return true;
}

void ShmGroup::RaiseTo(int signal, uint32_t target) {
  if (HasReached(raised_[signal], target)) return;
  raised_[signal] = target;
  const bool entering = !entered_;
  if (entering) {
    entered_ = true;
    ShowCheck();
    own_->words[kEnteredWord].store(operation_, std::memory_order_seq_cst);
  }
  own_->words[signal].store(target, std::memory_order_seq_cst);
  WakePeers(signal, entering);
}

// Either a waiter sees our store before it sleeps, or we see that it is about to: both store, then
// load, in one total order.
void ShmGroup::WakePeers(int signal, bool entering) {
  bool wake_signal = false;
  bool wake_entered = false;
  for (const Member& member : members_) {
    if (member.segment == nullptr) continue;
    const uint32_t parked = member.block->parked.load(std::memory_order_seq_cst);
    if (parked == 0) [[likely]] {
      continue;
    }
    wake_signal |= parked == ParkedOn(rank_, signal);
    wake_entered |= entering && parked == ParkedOn(rank_, kEnteredWord);
  }
  if (wake_signal) FutexWakeAll(own_->words[signal]);
  if (wake_entered) FutexWakeAll(own_->words[kEnteredWord]);
}

absl::StatusOr<ShmGroup::Place> ShmGroup::Find(int peer, Region region, size_t offset, size_t bytes,
                                               uint32_t round) {
  const Member& member = members_[static_cast<size_t>(peer)];
  PHX_CHECK_MSG(member.segment != nullptr, "a member reads its own memory directly");
  const OperationSlot& slot = SlotOf(peer);
  if (slot.check != current_.check) return spi::OtherOperation(member.rank);
  Place place;
  place.mapped = FindStaged(slot, region, offset, bytes, round);
  if (place.mapped != nullptr) return place;
  const int i = static_cast<int>(region);
  switch (slot.kind[i]) {
    case RegionKind::kMapped:
      read_in_place_ = true;
      place.mapped = member.segment->At(slot.where[i] + offset, bytes);
      break;
    case RegionKind::kAddress:
      read_in_place_ = true;
      place.address = slot.where[i] + offset;
      return place;
    case RegionKind::kWindow:
      place.mapped = FindInWindow(member, region, offset, bytes, round);
      break;
  }
  if (place.mapped == nullptr) {
    return absl::InternalError(absl::StrCat("rank ", member.rank, " hasn't published ", bytes,
                                            " bytes at ", offset, " of region ", i, " in round ",
                                            round, "; its plan and ours differ"));
  }
  return place;
}

const std::byte* ShmGroup::FindStaged(const OperationSlot& slot, Region region, size_t offset,
                                      size_t bytes, uint32_t round) const {
  const uint32_t count = slot.staged_count.load(std::memory_order_acquire);
  // The newest first: a range may be published again in a later round.
  for (uint32_t i = std::min<uint32_t>(count, spi::kMaxStagedPublications); i-- > 0;) {
    const StagedRanges& staged = slot.staged_ranges(i);
    if (staged.region != region || !HasReached(AbsoluteRound(round), staged.round)) continue;
    const std::optional<uint64_t> found = PositionIn(staged.ranges, offset, bytes);
    if (found && staged.position + *found + bytes <= spi::kMaxStagedBytes) {
      return slot.staged + staged.position + *found;
    }
  }
  return nullptr;
}

const std::byte* ShmGroup::FindInWindow(const Member& member, Region region, size_t offset,
                                        size_t bytes, uint32_t round) const {
  const WindowChunk& chunk =
      member.block->windows[static_cast<size_t>(region)][round % kWindowChunks];
  if (chunk.key.load(std::memory_order_acquire) != WindowKey(AbsoluteRound(round))) return nullptr;
  const std::optional<uint64_t> found = PositionIn(chunk.ranges, offset, bytes);
  return found ? member.segment->At(chunk.position + *found, bytes) : nullptr;
}

absl::StatusOr<const std::byte*> ShmGroup::Read(int peer, Region region, size_t offset,
                                                size_t bytes, uint32_t round, std::byte* tile) {
  if (bytes == 0) return tile;
  PHX_ASSIGN_OR_RETURN(const Place place, Find(peer, region, offset, bytes, round));
  if (place.mapped != nullptr) return place.mapped;
  const Member& member = members_[static_cast<size_t>(peer)];
  PHX_RETURN_IF_ERROR(member.segment->ReadPrivate(place.address, bytes, tile));
  return tile;
}

absl::Status ShmGroup::ReadInto(int peer, Region region, size_t offset, size_t bytes,
                                uint32_t round, std::byte* destination) {
  PHX_ASSIGN_OR_RETURN(const std::byte* const bytes_read,
                       Read(peer, region, offset, bytes, round, destination));
  if (bytes_read != destination) std::memcpy(destination, bytes_read, bytes);
  return absl::OkStatus();
}

void ShmGroup::ShowCheck() {
  if (std::exchange(shown_, true)) return;
  own_->checks[operation_ % kShownChecks].store(uint64_t{operation_} << 32 | current_.check,
                                                std::memory_order_release);
}

absl::Status ShmGroup::CheckMembers() {
  ShowCheck();
  for (const Member& member : members_) {
    if (member.segment == nullptr) continue;
    // A member that has given up may stand at the operation before.
    for (uint32_t i = 0; i < kShownChecks; ++i) {
      const uint64_t own = own_->checks[i].load(std::memory_order_relaxed);
      const uint64_t shown = member.block->checks[i].load(std::memory_order_acquire);
      if (shown >> 32 == own >> 32 && shown != own) return spi::OtherOperation(member.rank);
    }
  }
  return absl::OkStatus();
}

uint64_t ShmGroup::factor_bits(int peer) {
  return peer == rank_ ? current_.factor_bits : SlotOf(peer).factor_bits;
}

}  // namespace phalanx::shm
