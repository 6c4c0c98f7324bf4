// What a process hands to others, by whatever means they have, so that they can join its job.
#ifndef PHALANX_CONTROL_BOOTSTRAP_UNIQUE_ID_H_
#define PHALANX_CONTROL_BOOTSTRAP_UNIQUE_ID_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control_protocol/endpoint.h"

namespace phalanx::control {

// Holds the job's secret: whoever has it can join. At most 128 bytes.
struct UniqueId {
  static constexpr size_t kMostBytes = 128;
  static constexpr size_t kSecretBytes = 32;

  std::string job;       // at most 12 bytes
  Endpoint coordinator;  // the host at most 40 bytes
  std::string secret;    // kSecretBytes

  // INVALID_ARGUMENT when a part is longer than it may be.
  absl::StatusOr<std::string> ToBytes() const;
  // INVALID_ARGUMENT when these aren't the bytes of an id; zero bytes may follow it.
  static absl::StatusOr<UniqueId> FromBytes(absl::string_view bytes);

  // The same as URL-safe base64, which is at most kMostBytes long as well.
  absl::StatusOr<std::string> ToString() const;
  static absl::StatusOr<UniqueId> FromString(absl::string_view text);
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_BOOTSTRAP_UNIQUE_ID_H_
