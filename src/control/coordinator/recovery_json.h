// The part of a job's state as JSON that is about losses: who could replace whom, what is saved,
// how earlier recoveries went. docs/status.md describes the members.
#ifndef PHALANX_CONTROL_COORDINATOR_RECOVERY_JSON_H_
#define PHALANX_CONTROL_COORDINATOR_RECOVERY_JSON_H_

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "control_coordinator/job_checkpoints.h"
#include "control_coordinator/job_history.h"
#include "nlohmann/json.hpp"

namespace phalanx::control {

struct SpareFacts {
  int pid = 0;
  int node = -1;
  bool silent = false;
};

// A recovery that is under way.
struct CurrentRecovery {
  Clock::time_point since;           // the loss was known
  bool restoring = false;            // all have come back
  std::vector<int> awaited;          // ranks that haven't, but are there
  std::vector<int> without_process;  // ranks that wait for a spare
};

struct RecoveryFacts {
  Clock::time_point now;
  std::vector<SpareFacts> spares;
  int spares_to_come = 0;
  int restarts_left = 0;
  int voters = 0;
  std::optional<CurrentRecovery> current;
  std::vector<std::string> performed_faults;
  size_t planned_faults = 0;
  const JobHistory* history = nullptr;          // borrowed, as is the next
  const JobCheckpoints* checkpoints = nullptr;  // null: nothing is said of them
};

void AddRecovery(const RecoveryFacts& facts, nlohmann::json* status);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_RECOVERY_JSON_H_
