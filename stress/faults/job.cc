#include "job.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "control_supervisor/process_end.h"
#include "control_supervisor/spawn.h"

namespace phalanx::stress {
namespace {

constexpr Clock::duration kGrace = std::chrono::seconds(10);
// Between the launcher's end and that of its output, which others may hold.
constexpr Clock::duration kLastOutput = std::chrono::seconds(5);

// Reads what is there; closes it at its end.
void Drain(control::Fd* from, std::string* to) {
  char bytes[65536];
  const ssize_t count = read(from->get(), bytes, sizeof(bytes));
  if (count > 0) {
    to->append(bytes, static_cast<size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    from->Reset();
  }
}

class RunningJob {
 public:
  RunningJob(control::SpawnedProcess process, Clock::duration longest, EndSignals* signals)
      : process_(std::move(process)), deadline_(Deadline::After(longest)), signals_(signals) {}

  JobEnd Run() {
    while (process_.pidfd.valid() || process_.output.valid() || process_.error.valid()) {
      if (!Wait()) break;
    }
    return std::move(end_);
  }

 private:
  // False: nothing more is to come.
  bool Wait() {
    pollfd waited[] = {{process_.output.get(), POLLIN, 0},
                       {process_.error.get(), POLLIN, 0},
                       {process_.pidfd.get(), POLLIN, 0},
                       {signals_->fd(), POLLIN, 0}};
    const int left_ms = deadline_.LeftMs(Clock::now(), std::numeric_limits<int>::max());
    const int ready = poll(waited, 4, left_ms);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) return OnDeadline();
    if (waited[0].revents != 0) Drain(&process_.output, &end_.output);
    if (waited[1].revents != 0) Drain(&process_.error, &end_.error);
    if (waited[2].revents != 0) Reap();
    if (waited[3].revents != 0) OnSignal();
    return true;
  }

  bool OnDeadline() {
    if (!process_.pidfd.valid()) return false;
    if (!end_.interrupted.has_value()) end_.hung = true;
    Kill();
    return true;
  }

  // Its workers die with it.
  void Kill() {
    kill(-process_.pid, SIGKILL);
    deadline_ = Deadline::After(kGrace);
  }

  void OnSignal() {
    const std::optional<int> signal = signals_->Take();
    if (!signal.has_value() || !process_.pidfd.valid()) return;
    if (end_.interrupted.has_value()) return Kill();
    end_.interrupted = signal;
    kill(process_.pid, *signal);
    deadline_ = Deadline::After(kGrace);
  }

  void Reap() {
    int status = 0;
    waitpid(process_.pid, &status, 0);
    process_.pidfd.Reset();
    kill(-process_.pid, SIGKILL);  // whoever else is in its group
    const control::ProcessEnd end = control::ProcessEnd::From(status);
    end_.exit_code = end.ExitCode();
    end_.how = end.Describe();
    deadline_ = Deadline::After(kLastOutput);
  }

  control::SpawnedProcess process_;
  Deadline deadline_;
  EndSignals* const signals_;
  JobEnd end_;
};

}  // namespace

absl::StatusOr<JobEnd> RunJob(const std::vector<std::string>& command, const std::string& variable,
                              Clock::duration longest, EndSignals* signals) {
  control::SpawnRequest request;
  request.file = command.at(0);
  request.arguments = command;
  request.unblocks_signals = true;
  for (char** one = environ; *one != nullptr; ++one) request.environment.push_back(*one);
  request.environment.push_back(variable);
  PHX_ASSIGN_OR_RETURN(control::SpawnedProcess process, control::SpawnChild(request));
  return RunningJob(std::move(process), longest, signals).Run();
}

}  // namespace phalanx::stress
