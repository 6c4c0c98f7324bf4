// Faults that a job is to suffer, as people write them: `kill rank=2 at=step:120`. Pure.
#ifndef PHALANX_FAULTS_FAULT_H_
#define PHALANX_FAULTS_FAULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::faults {

enum class Action : uint8_t {
  kKill,      // SIGKILL
  kExit,      // with `code`
  kSegfault,  // SIGSEGV
};

// Happens once in a job: when the process that holds `rank` comes to View::Checkpoint() of `step`,
// before anything of it is saved. When the job comes to that step again, it doesn't.
struct Fault {
  Action action = Action::kKill;
  int rank = 0;
  int64_t step = 0;
  int code = 1;  // of kExit

  bool operator==(const Fault&) const = default;
};

// "ACTION rank=N at=step:N [code=N]". INVALID_ARGUMENT names the word that is wrong and what is
// known.
absl::StatusOr<Fault> ParseFault(absl::string_view text);

// One on each line, or with `;` between them; `#` begins a comment that goes to the line's end.
// INVALID_ARGUMENT quotes the fault that is wrong.
absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text);

// Parses back to the same.
std::string ToText(const Fault& fault);

}  // namespace phalanx::faults

#endif  // PHALANX_FAULTS_FAULT_H_
