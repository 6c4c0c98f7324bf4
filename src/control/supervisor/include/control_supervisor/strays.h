// Processes that workers left behind and that became our children (PR_SET_CHILD_SUBREAPER).
#ifndef PHALANX_CONTROL_SUPERVISOR_STRAYS_H_
#define PHALANX_CONTROL_SUPERVISOR_STRAYS_H_

#include <sys/types.h>

#include <set>

#include "base/deadline.h"

namespace phalanx::control {

// From now on a process whose parent ended becomes our child instead of the machine's. Once per
// process; it stays on.
void AdoptOrphans();

// Kills every child of this process that isn't in `ours`, and what in turn becomes our child by
// that, and reaps them. Returns how many could not be seen dead by `deadline` (0 but for a process
// that the kernel can't stop). Blocks only for deaths that SIGKILL has already caused.
int KillStrays(const std::set<pid_t>& ours, Deadline deadline);

// Reaps strays that have ended by themselves, without waiting.
void ReapEndedStrays(const std::set<pid_t>& ours);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_STRAYS_H_
