// What has happened to a job, for programs: beside the lines for people, which may change.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_EVENT_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_EVENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"

namespace phalanx::control {

// Times are microseconds (`…_us`).
//
//   resumed       epoch               a coordinator goes on from the job's record
//   fault         index               a fault of the job is performed; see faults/fault.h
//   member_lost   rank epoch
//   node_evicted  node                with all its processes
//   view          epoch spares        the view begins
//   committed     version epoch       a saved version is committed
//   recovered     epoch step bytes total_us returned_us restored_us
//                                     all ranks go on from `step`: so long after the loss was
//                                     known, of which so long until all had come back, and so long
//                                     to restore so many bytes. With `live` 1: to copy them from
//                                     ranks that had them, and `recomputed` steps were completed by
//                                     some and not committed
//   copy_corrupt  version epoch rank  a saved copy of that rank's shard
//   version_lost  version epoch rank  no good copy of that rank's shard is left
struct JobEvent {
  const char* name = "";
  std::vector<std::pair<const char*, int64_t>> numbers;
};

// As a JSON object on one line: {"event": name, "at_ns": when, number: …}. The time is that of the
// monotonic clock of the coordinator's machine.
std::string ToJsonLine(const JobEvent& event, Clock::time_point at);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_EVENT_H_
