#include "control_coordinator/job_event.h"

#include "absl/strings/str_cat.h"

namespace phalanx::control {

// Names are ours and need no escapes.
std::string ToJsonLine(const JobEvent& event) {
  std::string line = absl::StrCat("{\"event\": \"", event.name, "\"");
  for (const auto& [name, value] : event.numbers) {
    absl::StrAppend(&line, ", \"", name, "\": ", value);
  }
  return line + "}";
}

}  // namespace phalanx::control
