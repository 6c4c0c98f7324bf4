// What the job's part of checkpoints wants done.
#ifndef PHALANX_CONTROL_COORDINATOR_CHECKPOINT_OUTPUTS_H_
#define PHALANX_CONTROL_COORDINATOR_CHECKPOINT_OUTPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/version.h"
#include "control_coordinator/job_event.h"

namespace phalanx::control {

struct CheckpointOutputs {
  struct ToAgent {
    checkpoint::AgentId agent = 0;
    std::string payload;
  };
  std::vector<ToAgent> messages;                    // to be sent in this order
  std::vector<std::string> lines;                   // for the log
  std::vector<JobEvent> events;                     // and of the same, for programs
  std::optional<checkpoint::VersionName> restored;  // all ranks have it
  uint64_t bytes_restored = 0;                      // over all ranks
  // Said once after a loss: every shard of the committed version has so many copies again.
  std::optional<int> healthy_copies;
  uint64_t bytes_copied = 0;  // to get there
  absl::Status lost;          // not OK: nothing is left to go on from
  bool restoring = false;     // it is decided what all ranks load
  bool writes = false;        // record() is to be made durable
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_CHECKPOINT_OUTPUTS_H_
