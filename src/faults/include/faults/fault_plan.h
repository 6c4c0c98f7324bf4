// Which faults are due, and that each happens once. Pure; for one thread.
#ifndef PHALANX_FAULTS_FAULT_PLAN_H_
#define PHALANX_FAULTS_FAULT_PLAN_H_

#include <cstdint>
#include <set>
#include <vector>

#include "faults/fault.h"

namespace phalanx::faults {

struct Due {
  uint32_t index = 0;  // of the fault among all of the job
  Fault fault;

  bool operator==(const Due&) const = default;
};

// What is returned is done with: whoever asks performs it, or leaves it to the one whose it is, and
// makes sure that the next plan of the same job (another process's, or after a recovery) has its
// index in `done`. Without that, a rank that is rolled back would suffer the same fault for ever.
class FaultPlan {
 public:
  FaultPlan() = default;
  explicit FaultPlan(std::vector<Fault> faults, std::set<uint32_t> done = {});

  // `rank` has come to exactly this step. One that begins beyond a step isn't given its faults.
  // Rank 0 is given those of the network too.
  std::vector<Due> AtStep(int rank, int64_t step);
  // `rank` has issued `count` operations.
  std::vector<Due> AtOp(int rank, int64_t count);
  // Of every target.
  std::vector<Due> AtPoint(Point point);
  // Of every target; `elapsed_ns` since the job began.
  std::vector<Due> AtTime(int64_t elapsed_ns);

 private:
  template <typename IsDue>
  std::vector<Due> Take(const IsDue& is_due);

  std::vector<Fault> faults_;
  std::set<uint32_t> done_;
};

}  // namespace phalanx::faults

#endif  // PHALANX_FAULTS_FAULT_PLAN_H_
