#include "control_supervisor/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_process/process_descriptor.h"

namespace phalanx::control {
namespace {

struct Pipe {
  Fd read_end;
  Fd write_end;
};

absl::Status OutOf(const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " failed: ", strerror(errno), "; see `ulimit -a`"));
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return OutOf("making a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All that the child needs, prepared before the fork: between fork and exec a process that has (or
// had) threads may only call async-signal-safe functions, so no allocation happens there.
struct ChildPlan {
  pid_t parent;
  const char* file;
  const char* folder;  // null: stay
  NetworkPlace place;
  int input;  // -1: keep ours
  int output;
  int error;
  int report;  // errno goes here when the program can't be executed
  char* const* arguments;
  char* const* shell_arguments;  // for a script without a #! line
  char* const* environment;
  sigset_t signals;  // the mask to start with
  bool unblocks_signals;
};

// Pending signals must not reach our own handlers in the child: they'd write into descriptors that
// it shares with us.
void DropSignalHandlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN && signal != SIGPIPE) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

enum class Step : int { kNetwork, kFolder, kProgram };

struct Report {
  int error;
  Step step;  // that failed
};

[[noreturn]] void ReportAndExit(const ChildPlan& plan, Step step = Step::kProgram) {
  const Report report = {errno, step};
  [[maybe_unused]] const ssize_t written = write(plan.report, &report, sizeof(report));
  _exit(127);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  setpgid(0, 0);
  if (!EnterNetwork(plan.place)) ReportAndExit(plan, Step::kNetwork);
  // After that: the kernel forgets it when a process takes on other rights.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // it died before prctl() could tell
  DropSignalHandlers();
  if (plan.input >= 0 && dup2(plan.input, STDIN_FILENO) < 0) ReportAndExit(plan);
  if (dup2(plan.output, STDOUT_FILENO) < 0 || dup2(plan.error, STDERR_FILENO) < 0) {
    ReportAndExit(plan);
  }
  if (plan.folder != nullptr && chdir(plan.folder) != 0) ReportAndExit(plan, Step::kFolder);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, plan.unblocks_signals ? &none : &plan.signals, nullptr);
  execve(plan.file, plan.arguments, plan.environment);
  if (errno == ENOEXEC) execve("/bin/sh", plan.shell_arguments, plan.environment);
  ReportAndExit(plan);
}

absl::Status ExecError(const SpawnRequest& request, const Report& report) {
  const int error = report.error;
  std::string message;
  switch (report.step) {
    case Step::kNetwork:
      message = absl::StrCat("can't start in another network: ", strerror(error));
      break;
    case Step::kFolder:
      message = absl::StrCat("can't start in '", request.folder, "': ", strerror(error));
      break;
    case Step::kProgram:
      message = absl::StrCat("can't execute '", request.file, "': ", strerror(error));
      break;
  }
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == ENOMEM || error == EAGAIN) return absl::ResourceExhaustedError(message);
  return absl::PermissionDeniedError(message);
}

// Waits until the child's exec has closed the report pipe, or has failed and said why.
absl::Status AwaitExec(const SpawnRequest& request, int report, pid_t pid) {
  Report failure = {};
  ssize_t count;
  do {
    count = read(report, &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof(failure))) return absl::OkStatus();
  waitpid(pid, nullptr, 0);
  return ExecError(request, failure);
}

absl::StatusOr<Fd> OpenInput(const SpawnRequest& request, SpawnedProcess* process) {
  switch (request.input) {
    case ChildInput::kInherited:
      return Fd();
    case ChildInput::kNothing: {
      Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (null.get() < 0) return OutOf("opening /dev/null");
      return null;
    }
    case ChildInput::kPipe: {
      PHX_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
      process->input = std::move(pipe.write_end);
      return std::move(pipe.read_end);
    }
  }
  return absl::InternalError("no such kind of input");
}

pid_t ForkChild(ChildPlan* plan) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &plan->signals);
  const pid_t pid = fork();
  if (pid == 0) RunChild(*plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &plan->signals, nullptr);
  errno = error;
  return pid;
}

}  // namespace

absl::StatusOr<SpawnedProcess> SpawnChild(const SpawnRequest& request) {
  SpawnedProcess process;
  PHX_ASSIGN_OR_RETURN(Fd input, OpenInput(request, &process));
  PHX_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  PHX_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  PHX_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  std::vector<std::string> shell_strings = {"/bin/sh", request.file};
  if (!request.arguments.empty()) {
    shell_strings.insert(shell_strings.end(), request.arguments.begin() + 1,
                         request.arguments.end());
  }
  const std::vector<char*> arguments = Pointers(request.arguments);
  const std::vector<char*> shell_arguments = Pointers(shell_strings);
  const std::vector<char*> environment = Pointers(request.environment);
  ChildPlan plan = {};
  plan.parent = getpid();
  plan.file = request.file.c_str();
  plan.folder = request.folder.empty() ? nullptr : request.folder.c_str();
  plan.place = request.place;
  plan.input = input.get();
  plan.output = output.write_end.get();
  plan.error = error.write_end.get();
  plan.report = report.write_end.get();
  plan.arguments = arguments.data();
  plan.shell_arguments = shell_arguments.data();
  plan.environment = environment.data();
  plan.unblocks_signals = request.unblocks_signals;
  process.pid = ForkChild(&plan);
  if (process.pid < 0) return OutOf("starting a process");
  // Both sides set the group, so that it holds whoever runs first.
  setpgid(process.pid, process.pid);
  report.write_end.Reset();
  PHX_RETURN_IF_ERROR(AwaitExec(request, report.read_end.get(), process.pid));
  process.pidfd = OpenProcess(process.pid);
  if (process.pidfd.get() < 0) {
    const absl::Status status = OutOf("opening a process descriptor");
    kill(-process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return status;
  }
  process.output = std::move(output.read_end);
  process.error = std::move(error.read_end);
  return process;
}

}  // namespace phalanx::control
