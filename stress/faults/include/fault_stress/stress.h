// `phalanx stress`: jobs that suffer faults, many times, each of which must come to the end that it
// would have come to without.
#ifndef PHALANX_FAULT_STRESS_STRESS_H_
#define PHALANX_FAULT_STRESS_STRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "fault_stress/scenario.h"

namespace phalanx::stress {

struct StressSettings {
  std::string phalanx;               // the command's file
  std::vector<std::string> program;  // and its arguments; prints "weights DIGEST" on each rank
  std::vector<Scenario> scenarios;
  JobOptions options;                               // in place of the scenarios' own
  int runs = 1;                                     // of each scenario
  Clock::duration budget = std::chrono::hours(24);  // no run begins after that
  Clock::duration longest =
      std::chrono::seconds(60);  // that a run may take before it counts as hung
  uint64_t seed = 0;
  std::string json_path;  // empty: none
};

// Runs the scenarios in turn, on the main and only thread, and prints what came of them. Returns
// the process's exit code: 0 if all went well, 1 if not, 2 if a job can't be started like that, 128
// + N when signal N ended it.
int RunStress(const StressSettings& settings);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_STRESS_H_
