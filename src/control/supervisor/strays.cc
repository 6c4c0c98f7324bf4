#include "control_supervisor/strays.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "control_process/process_descriptor.h"

namespace phalanx::control {
namespace {

// The fourth field of /proc/PID/stat; the second, the name in brackets, may hold anything. Plain
// reads: a process that ends meanwhile is an error, which a stream would throw.
pid_t ParentOf(const std::filesystem::path& folder) {
  const Fd file(open((folder / "stat").c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[512];
  const ssize_t count = read(file.get(), bytes, sizeof(bytes));
  if (count <= 0) return -1;
  const std::string text(bytes, static_cast<size_t>(count));
  const size_t bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 4 > text.size()) return -1;
  return static_cast<pid_t>(std::atol(text.c_str() + bracket + 4));
}

std::vector<pid_t> ChildrenBut(const std::set<pid_t>& ours) {
  std::vector<pid_t> children;
  const pid_t self = getpid();
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const pid_t pid = static_cast<pid_t>(std::atol(name.c_str()));
    if (pid > 0 && ours.count(pid) == 0 && ParentOf(entry->path()) == self) children.push_back(pid);
  }
  return children;
}

bool ReapBy(pid_t pid, Deadline deadline) {
  const Fd process = OpenProcess(pid);
  pollfd waited = {process.get(), POLLIN, 0};
  while (waited.fd >= 0) {
    const int ready = poll(&waited, 1, deadline.LeftMs(Clock::now(), 1000));
    if (ready > 0) break;
    if (deadline.Passed(Clock::now())) return false;
  }
  siginfo_t info;
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) == 0 || errno == ECHILD;
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

int KillStrays(const std::set<pid_t>& ours, Deadline deadline) {
  while (true) {
    const std::vector<pid_t> strays = ChildrenBut(ours);
    if (strays.empty()) return 0;
    for (const pid_t pid : strays) kill(pid, SIGKILL);
    int alive = 0;
    for (const pid_t pid : strays) alive += ReapBy(pid, deadline) ? 0 : 1;
    if (alive > 0) return alive;
  }
}

void ReapEndedStrays(const std::set<pid_t>& ours) {
  for (const pid_t pid : ChildrenBut(ours)) {
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
  }
}

}  // namespace phalanx::control
