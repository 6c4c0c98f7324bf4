// Waiting for an answer that is on its way.
#ifndef PHALANX_CONTROL_CLIENT_LOOKING_H_
#define PHALANX_CONTROL_CLIENT_LOOKING_H_

#include "base/deadline.h"

namespace phalanx::control {

// Waits `patience` at most until there is something to read from `fd`, and says whether there is.
// `looking_pays`: of the caller's for all its calls, true at first.
bool LookForInput(int fd, Clock::duration patience, bool* looking_pays);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CLIENT_LOOKING_H_
