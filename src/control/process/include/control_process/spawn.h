// Starting our own command from inside any process, threads and all.
#ifndef PHALANX_CONTROL_PROCESS_SPAWN_H_
#define PHALANX_CONTROL_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "control_process/fd.h"

namespace phalanx::control {

// The path of the `phalanx` command: $PHALANX_BIN, else beside or near the file that holds this
// code (../bin/phalanx, ./phalanx), else in $PATH. NOT_FOUND names what was tried.
absl::StatusOr<std::string> FindProgram();

// A child in a process group of its own that inherits `kept_fds` (under the same numbers), standard
// output and error, and no other descriptor; standard input is empty. NOT_FOUND when the program
// can't be started.
absl::StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& arguments,
                            const std::vector<int>& kept_fds);

// Waits for a child of ours that ends by itself; its wait status (0 when somebody else has reaped
// it). Kills it at the deadline, which is DEADLINE_EXCEEDED.
absl::StatusOr<int> WaitForExit(pid_t pid, Deadline deadline);

// The read end of a pipe that holds `bytes` (at most 4096) and then ends: how a secret reaches a
// child.
absl::StatusOr<Fd> PipeHolding(absl::string_view bytes);
// Reads until end of file; closes `fd`. INVALID_ARGUMENT beyond `limit`.
absl::StatusOr<std::string> ReadToEnd(int fd, size_t limit);

// `bytes` random bytes from the system's generator.
std::string RandomBytes(size_t bytes);
uint64_t RandomNumber();
// A fresh job id: 12 lower-case hexadecimal digits.
std::string RandomJobId();

// Goes on in a child with its own session, nobody's child; returns only there. The caller's process
// ends with status 0. Only for a process of one thread.
absl::Status Detach();
// Has us killed when our parent ends, which must be `parent`.
absl::Status DieWith(pid_t parent);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_SPAWN_H_
