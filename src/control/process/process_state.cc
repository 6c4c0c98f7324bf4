#include "control_process/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

std::string ProcessSpace() {
  std::string boot = FirstBytes("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space;
  const ssize_t count = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || count <= 0) return "";
  if (boot.back() == '\n') boot.pop_back();
  return absl::StrCat(boot, " ", absl::string_view(space.data(), static_cast<size_t>(count)));
}

}  // namespace phalanx::control
