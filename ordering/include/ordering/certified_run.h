// A rank's walk through its schedule: the path that an operation takes when its order is known.
//
// Launch() is the whole cost of ordering for such an operation: a few comparisons and one record in
// a ring that was allocated before; no lock, no message, no clock. It is called by the launch queue
// only.
#ifndef PHALANX_ORDERING_CERTIFIED_RUN_H_
#define PHALANX_ORDERING_CERTIFIED_RUN_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "ordering/signature.h"
#include "ordering/slots.h"

namespace phalanx::ordering {

class CertifiedRun {
 public:
  struct Entry {
    uint32_t lane = 0;  // index of the launch queue's
    uint64_t hash = 0;  // of the signature
    Signature signature;
  };
  struct Record {
    uint64_t id = 0;
    uint64_t sequence = 0;  // in its lane
    uint64_t unit = 0;      // on its stream
    uint32_t lane = 0;
    uint32_t stream = 0;
    uint64_t position = 0;
    uint32_t entry = 0;  // index of the schedule's
    bool present = false;
    bool complete = false;
  };
  static constexpr int64_t kNotLaunched = -1;

  CertifiedRun() : ring_(kCapacity) {}

  void Begin(std::vector<Entry> entries) {
    entries_ = std::move(entries);
    cursor_ = 0;
  }

  // A rank may have no part in a schedule.
  bool has_entries() const { return !entries_.empty(); }
  const Entry& entry(uint32_t index) const { return entries_[index]; }
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry& next() const { return entries_[cursor_]; }
  void Advance() {
    if (++cursor_ == entries_.size()) cursor_ = 0;
  }

  // Records the launch of the next entry, if this is it and the device has room; its position.
  int64_t Launch(const Record& record, uint64_t hash, Slots* slots) {
    const Entry& entry = entries_[cursor_];
    if (entry.lane != record.lane || entry.hash != hash || tail_ - head_ == kCapacity ||
        !slots->SpeculationFits(record.stream, false)) {
      return kNotLaunched;
    }
    slots->BeginSpeculation(record.stream, false);
    Record& kept = ring_[tail_ % kCapacity];
    kept = record;
    kept.position = tail_;
    kept.entry = static_cast<uint32_t>(cursor_);
    Advance();
    return static_cast<int64_t>(tail_++);
  }

  // The record of a position that Launch() gave, or nullptr once it was taken out.
  Record* Find(int64_t position) {
    const auto at = static_cast<uint64_t>(position);
    return at >= head_ && at < tail_ ? &ring_[at % kCapacity] : nullptr;
  }

  // Forgets complete records at the old end.
  void Trim() {
    while (head_ < tail_ && ring_[head_ % kCapacity].complete) ++head_;
  }

  // Takes out all records that aren't complete, in the order of their launch.
  std::vector<Record> TakeAll() {
    std::vector<Record> records;
    for (; head_ < tail_; ++head_) {
      if (!ring_[head_ % kCapacity].complete) records.push_back(ring_[head_ % kCapacity]);
    }
    return records;
  }

  uint64_t oldest() const { return head_; }    // position of the oldest record
  uint64_t launched() const { return tail_; }  // positions given so far
  bool empty() const { return head_ == tail_; }

 private:
  static constexpr uint64_t kCapacity = 1024;

  std::vector<Entry> entries_;
  uint64_t cursor_ = 0;
  std::vector<Record> ring_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_CERTIFIED_RUN_H_
