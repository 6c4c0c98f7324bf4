// Restore() of a job that heals live: a checkpoint where that is decided, else the regions of ranks
// that have them.
#ifndef PHALANX_API_HEALING_H_
#define PHALANX_API_HEALING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "phalanx/communicator.h"
#include "phalanx/state.h"
#include "saver.h"
#include "stepper.h"

namespace phalanx::api {

// `world`: of the view. Errors as View::Restore(), and
//   DATA_LOSS  what was copied isn't what was sent
absl::StatusOr<int64_t> RestoreLive(Saver& saver, Stepper& stepper, Communicator& world,
                                    absl::Span<const StateRegion> regions, Deadline deadline);

}  // namespace phalanx::api

#endif  // PHALANX_API_HEALING_H_
