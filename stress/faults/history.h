// What happened to a job, by the events that its coordinators wrote (control_coordinator/
// job_event.h). Pure.
#ifndef PHALANX_FAULT_STRESS_HISTORY_H_
#define PHALANX_FAULT_STRESS_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::stress {

struct Recovery {
  int64_t total_us = 0;  // since the loss was known
  int64_t returned_us = 0;
  int64_t restored_us = 0;
};

struct JobHistory {
  int faults = 0;  // that were performed
  std::vector<Recovery> recoveries;
  int corrupt_copies = 0;
  std::vector<std::string> lost;  // each committed version that the job didn't go on from
};

// INVALID_ARGUMENT: a line is no event.
absl::StatusOr<JobHistory> ParseEvents(absl::string_view text);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_HISTORY_H_
