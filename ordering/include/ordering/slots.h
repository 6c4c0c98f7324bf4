// Who holds a device's slots: the bound that keeps the last one for tickets.
//
// Speculation holds one slot for each stream that it has operations on, however many (only the
// first of them can run), and one for each operation that runs beside another of its unit. It never
// holds the last slot, so the ticket whose turn it is can always be launched.
#ifndef PHALANX_ORDERING_SLOTS_H_
#define PHALANX_ORDERING_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace phalanx::ordering {

class Slots {
 public:
  explicit Slots(int count) : count_(count) {}

  bool TicketFits() const { return speculative_ + tickets_ < count_; }
  void BeginTicket() { ++tickets_; }
  void EndTicket() { --tickets_; }

  // `beside`: the operation belongs to the same unit as the one before it on the stream.
  bool SpeculationFits(uint32_t stream, bool beside) const {
    if (!beside && stream < streams_.size() && streams_[stream] > 0) return true;
    return speculative_ + 1 < count_ && speculative_ + 1 + tickets_ <= count_;
  }
  void BeginSpeculation(uint32_t stream, bool beside) {
    ++operations_;
    if (beside) {
      ++speculative_;
      return;
    }
    if (stream >= streams_.size()) streams_.resize(static_cast<size_t>(stream) + 1);
    if (streams_[stream]++ == 0) ++speculative_;
  }
  void EndSpeculation(uint32_t stream, bool beside) {
    --operations_;
    if (beside || --streams_[stream] == 0) --speculative_;
  }

  // Nothing launched by speculation is incomplete.
  bool clear() const { return operations_ == 0; }

 private:
  const int count_;
  int tickets_ = 0;           // launched by ticket and incomplete
  int speculative_ = 0;       // slots that speculation holds
  int operations_ = 0;        // launched by speculation and incomplete
  std::vector<int> streams_;  // of those, per stream, the ones that aren't beside another
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_SLOTS_H_
