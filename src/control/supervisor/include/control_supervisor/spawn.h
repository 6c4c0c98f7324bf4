// Starting one child process that can't outlive us.
#ifndef PHALANX_CONTROL_SUPERVISOR_SPAWN_H_
#define PHALANX_CONTROL_SUPERVISOR_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "control_process/network_place.h"

namespace phalanx::control {

enum class ChildInput { kNothing, kInherited, kPipe };

struct SpawnRequest {
  std::string file;                      // the executable's path (FindUserProgram)
  std::vector<std::string> arguments;    // argv, its first the name as the user wrote it
  std::vector<std::string> environment;  // all of it, as NAME=VALUE
  std::string folder;                    // where it starts; empty: where we are
  NetworkPlace place;                    // where it is on the network
  ChildInput input = ChildInput::kNothing;
  bool unblocks_signals = false;  // it starts with none blocked, whatever we have blocked
};

struct SpawnedProcess {
  pid_t pid = -1;  // leads a process group of the same number
  Fd pidfd;        // readable once the process has ended
  Fd input;        // our end of its standard input (ChildInput::kPipe)
  Fd output;       // our ends of its standard output and standard error
  Fd error;
};

// Forks and executes; returns once the new program runs. The child leads its own process group, has
// the signal dispositions that we inherited (SIGPIPE: the default), and gets SIGKILL when the
// *thread* that called SpawnChild ends: call it from the main thread.
//   NOT_FOUND, PERMISSION_DENIED  the program can't be executed
//   RESOURCE_EXHAUSTED            no more processes, descriptors or memory
absl::StatusOr<SpawnedProcess> SpawnChild(const SpawnRequest& request);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_SPAWN_H_
