// What stands under the key of a job's record: the record, and who wrote it there.
#ifndef PHALANX_KEYED_RECORD_ENVELOPE_H_
#define PHALANX_KEYED_RECORD_ENVELOPE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// Two writes never have the same tag, so whoever doesn't know what became of its write sees it.
struct WriteTag {
  uint64_t writer = 0;  // random, for one process
  uint64_t number = 0;  // of its writes, from 1 on

  bool operator==(const WriteTag&) const = default;
};

struct Envelope {
  WriteTag tag;
  std::string value;

  bool operator==(const Envelope&) const = default;
};

std::string Seal(const WriteTag& tag, absl::string_view value);

// Any bytes are safe to pass. INVALID_ARGUMENT: not a sealed value.
absl::StatusOr<Envelope> Unseal(absl::string_view bytes);

}  // namespace phalanx::control

#endif  // PHALANX_KEYED_RECORD_ENVELOPE_H_
