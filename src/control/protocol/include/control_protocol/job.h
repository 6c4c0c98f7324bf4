// Rules for what names and protects a job.
#ifndef PHALANX_CONTROL_PROTOCOL_JOB_H_
#define PHALANX_CONTROL_PROTOCOL_JOB_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// Length of a secret: random bytes, or the contents of a key file.
inline constexpr size_t kMinSecretBytes = 16;
inline constexpr size_t kMaxSecretBytes = 4096;

// INVALID_ARGUMENT unless `job` has 1 to 64 letters, digits, or characters of "._-:[]".
absl::Status ValidateJobId(absl::string_view job);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_JOB_H_
