// A job's state as JSON: what `phalanx status --json` prints. docs/ordering.md and
// docs/status.md describe the object.
#ifndef PHALANX_CONTROL_COORDINATOR_STATUS_JSON_H_
#define PHALANX_CONTROL_COORDINATOR_STATUS_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "control_coordinator/job_ordering.h"
#include "control_protocol/job_settings.h"
#include "recovery_json.h"

namespace phalanx::control {

struct RankFacts {
  int rank = -1;  // -1: it will be given one
  // "awaited" (nobody has come for it, or not come back), "joining", "ready", "closing" (has left),
  // "lost" (waits for a spare), "gone".
  const char* state = "";
  int pid = 0;    // 0: not known
  int node = -1;  // -1: not known
  bool asked = false;
  bool silent = false;         // its agent said so last
  std::vector<int> copies_on;  // nodes that are to have its state; its own first
};

struct NodeFacts {
  int node = 0;
  std::string name;
  int cores = 0;
};

struct JobFacts {
  std::string job;
  const char* phase = "";
  std::string reason;  // why it ends
  int world_size = 0;
  Epoch epoch;
  JobSettings settings;
  std::vector<NodeFacts> nodes;
  std::vector<RankFacts> ranks;
  const JobOrdering* ordering = nullptr;  // null: nothing is ordered
  RecoveryFacts recovery;
};

std::string ToJson(const JobFacts& facts);
// In its place, for one who can't be answered.
std::string ErrorJson(const std::string& why);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_STATUS_JSON_H_
