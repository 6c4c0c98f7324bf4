#include "control_process/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "control_process/fd.h"

namespace phalanx::control {
namespace {

// Of a file that is made as it is read, so in one piece; a file in /proc/PID may end at any time.
std::string FirstBytes(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> bytes;
  const ssize_t count = file.valid() ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  return count < 0 ? "" : std::string(bytes.data(), static_cast<size_t>(count));
}

}  // namespace

ProcessState StateOf(int pid) {
  // "PID (NAME) STATE …", where the name may hold anything.
  const std::string stat = FirstBytes(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return ProcessState::kUnknown;
  switch (stat[name_end + 2]) {
    case 'T':
      return ProcessState::kStopped;
    case 't':
      return ProcessState::kTraced;
    case 'R':
    case 'S':
    case 'D':
    case 'I':
    case 'P':
    case 'W':
    case 'K':
      return ProcessState::kGoesOn;
    default:  // 'Z', 'X', 'x'
      return ProcessState::kUnknown;
  }
}

}  // namespace phalanx::control
