#include "control_supervisor/keeper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {
namespace {

// A message is one number: a group to remember, or its negative to forget it.
[[noreturn]] void KeepUntilEnd(int pipe) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();  // a signal to the launcher's group must miss us
  prctl(PR_SET_NAME, "phalanx-keeper");
  // Whoever reads the launcher's output must see its end when the launcher ends, not when we do.
  if (pipe != 3) dup3(pipe, 3, O_CLOEXEC);
  close_range(4, ~0U, 0);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  std::set<pid_t> groups;
  while (true) {
    pid_t message = 0;
    const ssize_t count = read(3, &message, sizeof(message));
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof(message))) break;
    if (message > 0) {
      groups.insert(message);
    } else {
      groups.erase(-message);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Keeper>> Keeper::Start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("making a pipe failed: ", strerror(errno)));
  }
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("starting a process failed: ", strerror(errno)));
  }
  if (pid == 0) KeepUntilEnd(read_end.get());
  return std::unique_ptr<Keeper>(new Keeper(pid, std::move(write_end)));
}

Keeper::~Keeper() {
  pipe_.Reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Keeper::Add(pid_t group) { Tell(group); }

void Keeper::Remove(pid_t group) { Tell(-group); }

// A keeper that somebody killed is no reason to end the job: EPIPE is ignored.
void Keeper::Tell(pid_t signed_group) {
  while (write(pipe_.get(), &signed_group, sizeof(signed_group)) < 0 && errno == EINTR) {
  }
}

}  // namespace phalanx::control
