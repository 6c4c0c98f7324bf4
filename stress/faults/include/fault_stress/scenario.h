// Which faults a job is to suffer, again and again, and how it is started. Pure.
#ifndef PHALANX_FAULT_STRESS_SCENARIO_H_
#define PHALANX_FAULT_STRESS_SCENARIO_H_

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::stress {

// Of `phalanx run`, by name: {"-n", "4"}, {"--spares", "1"}.
using JobOptions = std::map<std::string, std::string>;

struct Scenario {
  std::string name;
  std::string summary;  // of those that are built in
  JobOptions options;
  // As `phalanx run --fault` takes them, but that {A..B} stands for a number that is drawn for each
  // run.
  std::vector<std::string> faults;
};

// One on a line, `#` begins a comment:
//   NAME [OPTION VALUE]…: FAULT; FAULT …
// INVALID_ARGUMENT names the line and what is wrong with it.
absl::StatusOr<std::vector<Scenario>> ParseScenarios(absl::string_view text);

const std::vector<Scenario>& BuiltInScenarios();

// `pattern` with a number from A to B in place of each {A..B}. INVALID_ARGUMENT: there is none.
absl::StatusOr<std::string> Draw(absl::string_view pattern, std::mt19937_64* random);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_SCENARIO_H_
