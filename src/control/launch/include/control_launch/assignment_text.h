// A node's assignment as lines of text: how the launcher hands it to an agent's standard input, so
// that neither the key nor the program's arguments pass through a command line or a remote shell.
#ifndef PHALANX_CONTROL_LAUNCH_ASSIGNMENT_TEXT_H_
#define PHALANX_CONTROL_LAUNCH_ASSIGNMENT_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "control_launch/node_job.h"

namespace phalanx::control {

// Lines `name value`, the last one `end`.
std::string ToText(const NodeAssignment& assignment);

// INVALID_ARGUMENT names the line that is wrong or says what is missing.
absl::StatusOr<NodeAssignment> ParseAssignment(const std::string& text);

// Reads from `fd`, which may go on after it, up to and with the line `end`. Blocks until it is
// there: the launcher writes it first thing. UNAVAILABLE when the input ends before.
absl::StatusOr<std::string> ReadAssignment(int fd);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_ASSIGNMENT_TEXT_H_
