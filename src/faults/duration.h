// Durations as people write them: 250ms, 1.5s, 2m.
#ifndef PHALANX_FAULTS_DURATION_H_
#define PHALANX_FAULTS_DURATION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::faults {

inline constexpr int64_t kLongestNs = int64_t{1000} * 3600 * 1'000'000'000;  // 1000 hours

// From 0 to kLongestNs, exact; INVALID_ARGUMENT quotes the text.
absl::StatusOr<int64_t> ParseDuration(absl::string_view text);

// Parses back to the same.
std::string DurationText(int64_t duration_ns);

}  // namespace phalanx::faults

#endif  // PHALANX_FAULTS_DURATION_H_
