// What proves that a process belongs to a job.
#ifndef PHALANX_CONTROL_CHANNEL_JOB_KEY_H_
#define PHALANX_CONTROL_CHANNEL_JOB_KEY_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// The pre-shared key of the job's TLS connections.
struct JobKey {
  std::array<uint8_t, 32> bytes{};
};

// The key of a secret: SHA-256 of a label and the secret. INVALID_ARGUMENT unless it has
// kMinSecretBytes … kMaxSecretBytes (control_protocol/job.h).
absl::StatusOr<JobKey> DeriveKey(absl::string_view secret);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CHANNEL_JOB_KEY_H_
