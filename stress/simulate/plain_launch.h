// Launching in the order of issue, with nobody who looks after it: what deadlocks.
#ifndef PHALANX_SIMULATE_PLAIN_LAUNCH_H_
#define PHALANX_SIMULATE_PLAIN_LAUNCH_H_

#include <cstdint>
#include <vector>

#include "rank_program.h"
#include "simulate/deadlock.h"

namespace phalanx::simulate {

struct PlainRound {
  bool published = false;  // a deadlock by the rule of the published simulations
  bool exact = false;      // some rank can never go on
};

// Rounds by the configuration's model. Ranks take turns and do one step in each.
class PlainLaunch {
 public:
  // Both outlive it.
  PlainLaunch(const DeadlockConfig& config, const Layout& layout);

  PlainRound Run(uint64_t round);

 private:
  struct Rank {
    bool waits = false;     // kSynchronisation: for its device; kSingleQueue: for `open`
    std::vector<int> open;  // issued and incomplete
  };

  PlainRound RunSingleQueue(std::vector<RankProgram>* programs);
  PlainRound RunSynchronisation(std::vector<RankProgram>* programs);
  void Begin();
  void Issue(int rank, int collective);
  uint8_t& Issued(int rank, int collective);
  bool IsCrossed(int rank);

  const DeadlockConfig& config_;
  const Layout& layout_;
  std::vector<size_t> first_flag_;  // of a collective, in issued_
  std::vector<uint8_t> issued_;     // a flag for each collective and member
  std::vector<int> missing_;        // members that haven't issued it, by collective
  std::vector<Rank> ranks_;
};

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_PLAIN_LAUNCH_H_
