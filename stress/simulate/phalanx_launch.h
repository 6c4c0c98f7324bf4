// The same programs, launched by Phalanx's ordering.
#ifndef PHALANX_SIMULATE_PHALANX_LAUNCH_H_
#define PHALANX_SIMULATE_PHALANX_LAUNCH_H_

#include <cstdint>

#include "cluster.h"
#include "ordering/roster.h"
#include "rank_program.h"
#include "simulate/deadlock.h"

namespace phalanx::simulate {

struct PhalanxRound {
  bool hung = false;       // ended neither way
  bool explained = false;  // operations were aborted with a report
  uint64_t completed = 0;  // collectives
  uint64_t tickets = 0;    // of the sequencer; nodes give their own to what never leaves them
};

class PhalanxLaunch {
 public:
  // Both outlive it.
  PhalanxLaunch(const DeadlockConfig& config, const Layout& layout);

  PhalanxRound Run(uint64_t round) const;

 private:
  const DeadlockConfig& config_;
  const Layout& layout_;
  const ordering::Roster roster_;
};

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_PHALANX_LAUNCH_H_
