// Finding the program to run, as a shell does.
#ifndef PHALANX_CONTROL_SUPERVISOR_PROGRAM_H_
#define PHALANX_CONTROL_SUPERVISOR_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace phalanx::control {

// What shells exit with when a program isn't there, and when it is but can't be run.
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitNotExecutable = 126;

// The path of the executable file that `name` stands for. A name with a slash is that file. Any
// other is looked for in the folders of `search_path` (as in PATH; an empty entry is the working
// folder), then in `more_folders`.
//   NOT_FOUND          no such file anywhere (kExitNotFound)
//   PERMISSION_DENIED  found, but a folder or not executable for us (kExitNotExecutable)
absl::StatusOr<std::string> FindUserProgram(const std::string& name, const std::string& search_path,
                                            const std::vector<std::string>& more_folders);

// Where examples lie beside a `phalanx` command whose file is `executable`: its own folder (a build
// tree) and ../libexec/phalanx (an installed one).
std::vector<std::string> FoldersBeside(const std::string& executable);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_PROGRAM_H_
