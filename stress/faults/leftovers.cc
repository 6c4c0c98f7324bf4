#include "leftovers.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control_process/process_descriptor.h"

namespace phalanx::stress {
namespace {

constexpr char kSharedMemory[] = "/dev/shm";

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<pid_t> Processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->path().filename().string(), &pid)) pids.push_back(pid);
  }
  return pids;
}

// Those of our user.
std::set<std::string> SharedNames() {
  std::set<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(kSharedMemory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    struct stat info {};
    const std::string path = entry->path().string();
    if (lstat(path.c_str(), &info) == 0 && info.st_uid == getuid()) names.insert(path);
  }
  return names;
}

bool IsMapped(const std::string& path) {
  for (const pid_t pid : Processes()) {
    if (Contents(absl::StrCat("/proc/", pid, "/maps")).find(path) != std::string::npos) return true;
  }
  return false;
}

// A name stands between zero bytes.
bool HasMark(pid_t pid, const std::string& mark) {
  const std::string environment = '\0' + Contents(absl::StrCat("/proc/", pid, "/environ")) + '\0';
  return environment.find('\0' + mark + '\0') != std::string::npos;
}

bool AwaitEnd(const control::Fd& process, Deadline deadline) {
  pollfd waited{process.get(), POLLIN, 0};
  return poll(&waited, 1, deadline.LeftMs(Clock::now(), std::numeric_limits<int>::max())) > 0;
}

}  // namespace

Leftovers::Leftovers(std::string mark) : mark_(std::move(mark)), shared_before_(SharedNames()) {}

std::vector<std::string> Leftovers::Find(Deadline deadline) const {
  std::vector<std::string> found;
  for (const pid_t pid : Processes()) {
    if (pid == getpid() || !HasMark(pid, mark_)) continue;
    const control::Fd process = control::OpenProcess(pid);
    if (!process.valid() || AwaitEnd(process, deadline) || !HasMark(pid, mark_)) continue;
    std::string name = Contents(absl::StrCat("/proc/", pid, "/comm"));
    if (!name.empty()) name.pop_back();
    found.push_back(absl::StrCat("process ", pid, " (", name, ")"));
    kill(pid, SIGKILL);
  }
  for (const std::string& name : SharedNames()) {
    if (shared_before_.count(name) == 0 && !IsMapped(name)) found.push_back(name);
  }
  return found;
}

}  // namespace phalanx::stress
