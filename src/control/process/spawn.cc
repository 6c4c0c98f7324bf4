#include "control_process/spawn.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "control_process/process_descriptor.h"

extern char** environ;

namespace phalanx::control {
namespace {

absl::Status Failed(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(error)));
}

std::string FolderOfThisCode() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&FolderOfThisCode), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "";
  }
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// The child's descriptors, from low to high: standard streams, those kept, nothing in between.
// posix_spawn works on the child's table, so the parent's close-on-exec flags stay as they are.
class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void KeepOnly(std::vector<int> kept) {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    std::sort(kept.begin(), kept.end());
    int next = STDERR_FILENO + 1;
    for (const int fd : kept) {
      for (; next < fd; ++next) ::posix_spawn_file_actions_addclose(&actions_, next);
      // Onto itself: clears close-on-exec in the child alone.
      ::posix_spawn_file_actions_adddup2(&actions_, fd, fd);
      next = fd + 1;
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, next);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// The host process may block or ignore signals; ours start with none blocked and none ignored, and
// in a group of their own, so that a terminal's Ctrl-C is for the host process to handle.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<std::string> FindProgram() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("PHALANX_BIN"); named != nullptr && *named != '\0') {
    if (::access(named, X_OK) == 0) return std::string(named);
    return absl::NotFoundError(
        absl::StrCat("PHALANX_BIN names ", named, ", which is no program that can be started"));
  }
  if (const std::string folder = FolderOfThisCode(); !folder.empty()) {
    candidates.push_back(absl::StrCat(folder, "/../bin/phalanx"));
    candidates.push_back(absl::StrCat(folder, "/phalanx"));
  }
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      candidates.push_back(absl::StrCat(folder, "/phalanx"));
    }
  }
  for (const std::string& candidate : candidates) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(
      absl::StrCat("the command `phalanx` was not found; set PHALANX_BIN to its path (tried ",
                   absl::StrJoin(candidates, ", "), ")"));
}

absl::StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& arguments,
                            const std::vector<int>& kept_fds) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  SpawnActions actions;
  actions.KeepOnly(kept_fds);
  const SpawnAttributes attributes;
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), argv.data(), environ);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("cannot start ", program, ": ", strerror(error)));
  }
  return pid;
}

absl::StatusOr<int> WaitForExit(pid_t pid, Deadline deadline) {
  int status = 0;
  const Fd process = OpenProcess(pid);
  bool late = false;
  while (process.valid()) {
    pollfd waited{process.get(), POLLIN, 0};
    constexpr int kSliceMs = 1000;
    if (::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs)) > 0) break;
    if (deadline.Passed(Clock::now())) {
      ::kill(pid, SIGKILL);
      late = true;
      break;
    }
  }
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == ECHILD) return 0;
    if (errno != EINTR) return Failed("waitpid", errno);
  }
  if (late) return absl::DeadlineExceededError("a child process did not end in time");
  return status;
}

absl::StatusOr<Fd> PipeHolding(absl::string_view bytes) {
  constexpr size_t kAlwaysFits = 4096;
  if (bytes.size() > kAlwaysFits) return absl::InvalidArgumentError("too long for a pipe");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe", errno);
  Fd reader(ends[0]);
  const Fd writer(ends[1]);
  if (::write(writer.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return Failed("write to a pipe", errno);
  }
  return reader;
}

absl::StatusOr<std::string> ReadToEnd(int fd, size_t limit) {
  const Fd owned(fd);
  std::string bytes;
  char part[1024];
  while (true) {
    const ssize_t got = ::read(fd, part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", errno);
    if (got == 0) return bytes;
    bytes.append(part, static_cast<size_t>(got));
    if (bytes.size() > limit) return absl::InvalidArgumentError("more bytes than expected");
  }
}

absl::Status Detach() {
  const pid_t child = ::fork();
  if (child < 0) return Failed("fork", errno);
  if (child > 0) ::_exit(0);
  if (::setsid() < 0) return Failed("setsid", errno);
  // Keeps no folder in use.
  if (::chdir("/") != 0) return Failed("chdir", errno);
  return absl::OkStatus();
}

absl::Status DieWith(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return Failed("prctl", errno);
  // It may have died before the call.
  if (::getppid() != parent) return absl::UnavailableError("the parent process is gone");
  return absl::OkStatus();
}

}  // namespace phalanx::control
