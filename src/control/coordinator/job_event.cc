#include "control_coordinator/job_event.h"

#include <chrono>

#include "absl/strings/str_cat.h"

namespace phalanx::control {

// Names are ours and need no escapes.
std::string ToJsonLine(const JobEvent& event, Clock::time_point at) {
  const auto at_ns = std::chrono::nanoseconds(at.time_since_epoch()).count();
  std::string line = absl::StrCat("{\"event\": \"", event.name, "\", \"at_ns\": ", at_ns);
  for (const auto& [name, value] : event.numbers) {
    absl::StrAppend(&line, ", \"", name, "\": ", value);
  }
  return line + "}";
}

}  // namespace phalanx::control
