// What a rank does in a round: its collectives, now and then out of order, and waits for the
// device.
#ifndef PHALANX_SIMULATE_RANK_PROGRAM_H_
#define PHALANX_SIMULATE_RANK_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "simulate/deadlock.h"

namespace phalanx::simulate {

// splitmix64: equal on every machine, and cheap to make one for each rank and round.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t value = state_;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
  }
  bool Chance(double probability) {
    return static_cast<double>(Next() >> 11) * 0x1p-53 < probability;
  }

 private:
  uint64_t state_;
};

// Collectives are numbered through, group by group.
class Layout {
 public:
  explicit Layout(const DeadlockConfig& config);

  int ranks() const { return static_cast<int>(orders_.size()); }
  int collectives() const { return static_cast<int>(group_of_.size()); }
  const std::vector<Group>& groups() const { return groups_; }
  int GroupOf(int collective) const { return group_of_[static_cast<size_t>(collective)]; }
  const std::vector<int>& MembersOf(int collective) const {
    return groups_[static_cast<size_t>(GroupOf(collective))].ranks;
  }
  // Without disorder: the first of each of its groups in turn, then the second of each, …
  const std::vector<int>& OrderOf(int rank) const { return orders_[static_cast<size_t>(rank)]; }

 private:
  std::vector<Group> groups_;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> orders_;
};

class RankProgram {
 public:
  static constexpr int kWait = -1;  // for the device
  static constexpr int kEnd = -2;

  // `layout` outlives it.
  RankProgram(const DeadlockConfig& config, const Layout& layout, uint64_t round, int rank);

  // A collective, kWait or kEnd. Depends on nothing but the constructor's arguments.
  int Next();
  bool ended() const { return next_ == left_.size(); }

 private:
  Random random_;
  const double disorder_;
  const double synchronisation_;
  std::vector<int> left_;  // from next_ on
  size_t next_ = 0;
};

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_RANK_PROGRAM_H_
