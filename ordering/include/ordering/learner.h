// Finds the order that a program repeats in the log of its tickets.
#ifndef PHALANX_ORDERING_LEARNER_H_
#define PHALANX_ORDERING_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ordering/messages.h"

namespace phalanx::ordering {

// An iteration is a block of the log; blocks are equal if each lane has the same operations in
// them, in the same order. How lanes interleave is a matter of timing and differs from one to the
// next.
class Learner {
 public:
  // `longest`: operations of one iteration, at most.
  explicit Learner(size_t longest) : longest_(longest) {}

  void Add(const Schedule::Entry& entry, uint64_t sequence);

  // The last block as a schedule, if `count` blocks that end the log are equal; count >= 2.
  std::optional<Schedule> Find(size_t count) const;

  void Clear();

 private:
  struct Logged {
    Schedule::Entry entry;
    uint64_t sequence = 0;
    uint64_t kind = 0;     // hash of lane and signature
    uint64_t sum = 0;      // of the kinds up to here: blocks with equal sums hold the same kinds
    uint64_t earlier = 0;  // number of the last one of this kind, counted from 1; 0: none
  };
  using LaneLog = std::vector<std::pair<uint64_t, uint64_t>>;  // sequence, signature's hash

  bool SumsAreEqual(size_t length, size_t count) const;
  // Of `count` blocks of `length` that end the log; nothing unless they are equal lane by lane.
  std::optional<Schedule> Build(size_t length, size_t count) const;
  const Logged& FromEnd(size_t distance) const { return log_[log_.size() - 1 - distance]; }

  const size_t longest_;
  std::deque<Logged> log_;
  uint64_t added_ = 0;
  absl::flat_hash_map<uint64_t, uint64_t> last_of_kind_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_LEARNER_H_
