// A share of rounds, and how sure one may be of it.
#ifndef PHALANX_SIMULATE_RATE_H_
#define PHALANX_SIMULATE_RATE_H_

#include <cstdint>

namespace phalanx::simulate {

struct Rate {
  uint64_t hits = 0;
  uint64_t rounds = 0;

  double value() const {
    return rounds == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(rounds);
  }
};

struct Interval {
  double low = 0;
  double high = 1;

  bool Holds(double value) const { return low <= value && value <= high; }
  bool Overlaps(const Interval& other) const { return low <= other.high && other.low <= high; }
};

// Wilson's interval for 95 %: right for rates near 0 and 1 as well. [0, 1] for no rounds.
Interval ConfidenceOf(const Rate& rate);

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_RATE_H_
