// Which of this machine's addresses another machine can reach.
#ifndef PHALANX_CONTROL_LAUNCH_OWN_ADDRESS_H_
#define PHALANX_CONTROL_LAUNCH_OWN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace phalanx::control {

// The address from which the system would send to `host` (no packet is sent). UNAVAILABLE when the
// host's name is unknown or there is no route.
absl::StatusOr<std::string> OwnAddressTowards(const std::string& host);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_OWN_ADDRESS_H_
