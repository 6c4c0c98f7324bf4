#include "control_supervisor/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace phalanx::control {
namespace {

enum class Found { kNothing, kNotExecutable, kExecutable };

Found LookAt(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return errno == EACCES ? Found::kNotExecutable : Found::kNothing;
  const bool runs = S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  return runs ? Found::kExecutable : Found::kNotExecutable;
}

absl::Status NotExecutable(const std::string& path) {
  struct stat info;
  const bool folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return absl::PermissionDeniedError(
      absl::StrCat("'", path, "' ", folder ? "is a directory" : "is not executable"));
}

}  // namespace

absl::StatusOr<std::string> FindUserProgram(const std::string& name, const std::string& search_path,
                                            const std::vector<std::string>& more_folders) {
  if (name.empty()) return absl::NotFoundError("the name of the program is empty");
  if (name.find('/') != std::string::npos) {
    switch (LookAt(name)) {
      case Found::kExecutable:
        return name;
      case Found::kNotExecutable:
        return NotExecutable(name);
      case Found::kNothing:
        return absl::NotFoundError(absl::StrCat("no such program: '", name, "'"));
    }
  }
  std::vector<std::string> folders = absl::StrSplit(search_path, ':');
  folders.insert(folders.end(), more_folders.begin(), more_folders.end());
  std::optional<std::string> not_executable;
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder.empty() ? "." : folder, "/", name);
    const Found found = LookAt(path);
    if (found == Found::kExecutable) return path;
    struct stat info;
    // A folder of that name in PATH is no candidate, as for a shell.
    const bool file = stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (found == Found::kNotExecutable && file && !not_executable) not_executable = path;
  }
  if (not_executable) return NotExecutable(*not_executable);
  return absl::NotFoundError(
      absl::StrCat("no such program: '", name,
                   "' is neither in PATH nor beside phalanx; give its path, such as ./", name));
}

std::vector<std::string> FoldersBeside(const std::string& executable) {
  const size_t slash = executable.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : executable.substr(0, slash);
  return {folder, absl::StrCat(folder, "/../libexec/phalanx")};
}

}  // namespace phalanx::control
