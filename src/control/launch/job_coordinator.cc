#include "control_launch/job_coordinator.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "asio/buffer.hpp"
#include "base/status_macros.h"
#include "control_launch/node_job.h"
#include "control_process/process_descriptor.h"
#include "control_process/spawn.h"
#include "control_supervisor/process_end.h"

namespace phalanx::control {

absl::StatusOr<std::unique_ptr<JobCoordinator>> JobCoordinator::Start(
    const std::string& host, const JobFiles& files, const NodeAssignment& assignment, Fd socket) {
  constexpr size_t kSecretBytes = 32;
  CoordinatorProcessOptions options;
  options.program = ThisCommand();
  options.job = RandomJobId();
  options.secret = absl::BytesToHexString(RandomBytes(kSecretBytes));
  options.report_file = files.reports;
  options.events_file = files.events;
  options.persist = assignment.persist;
  const auto faults = assignment.variables.find("PHALANX_FAULTS");
  if (faults != assignment.variables.end()) options.faults = faults->second;
  // Programs may compute for days before they join, or never join. Who doesn't come is known here
  // by its end; how long the others wait is up to the deadline that they join with.
  options.join_timeout = std::chrono::milliseconds(std::numeric_limits<int>::max());
  std::unique_ptr<JobCoordinator> coordinator(new JobCoordinator(std::move(options)));
  PHX_ASSIGN_OR_RETURN(coordinator->listener_, Listen({host, 0}, std::move(socket)));
  if (files.status_port.has_value()) {
    PHX_RETURN_IF_ERROR(coordinator->OpenStatusPage(*files.status_port));
  }
  PHX_RETURN_IF_ERROR(coordinator->MakeRecord(files.record_url));
  coordinator->options_.listen_fd = coordinator->listener_.fd.get();
  coordinator->options_.status_fd = coordinator->status_listener_.fd.get();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
  }
  coordinator->notices_begin_ = Fd(ends[0]);
  coordinator->notices_end_ = Fd(ends[1]);
  coordinator->options_.launcher_fd = coordinator->notices_end_.get();
  PHX_ASSIGN_OR_RETURN(const CoordinatorProcess process,
                       StartCoordinatorProcess(coordinator->options_));
  coordinator->pid_ = process.pid;
  if (files.status_port.has_value()) {
    Logger::ToStderr("", LogSeverity::kInfo)
        .Info(absl::StrCat("the job's status: http://",
                           ToString(coordinator->status_listener_.endpoint), "/"));
  }
  return coordinator;
}

absl::Status JobCoordinator::MakeRecord(const std::string& url) {
  if (url.empty()) {
    // The job ends with this process, so its record needn't outlive it.
    record_ = Fd(memfd_create("phalanx-record", MFD_CLOEXEC));
    if (!record_.valid()) {
      return absl::UnavailableError(absl::StrCat("memfd_create: ", strerror(errno)));
    }
    options_.record_fd = record_.get();
    return absl::OkStatus();
  }
  options_.record_url = url;
  if (RunRecordCommand("create").ok()) return absl::OkStatus();
  options_.record_url.clear();  // there is nothing to remove
  return absl::UnavailableError(
      absl::StrCat("the job isn't started: its record can't be kept at ", url));
}

absl::Status JobCoordinator::RunRecordCommand(const std::string& what) const {
  constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(3);
  constexpr auto kStart = std::chrono::seconds(10);  // of a program on a loaded machine
  PHX_ASSIGN_OR_RETURN(
      const pid_t pid,
      Spawn(options_.program,
            {"record", what, "--etcd", options_.record_url, "--job", options_.job, "--patience-ms",
             absl::StrCat(kPatience.count()), "--die-with", absl::StrCat(::getpid())},
            {}));
  PHX_ASSIGN_OR_RETURN(const int status, WaitForExit(pid, Deadline::After(kStart + kPatience)));
  if (status == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("phalanx record ended with wait status ", status));
}

// On loopback alone: whoever reads it has an account here.
absl::Status JobCoordinator::OpenStatusPage(uint16_t port) {
  absl::StatusOr<Listener> listener = Listen({"127.0.0.1", port});
  if (!listener.ok()) {
    return absl::Status(listener.status().code(),
                        absl::StrCat("--status-port: ", listener.status().message()));
  }
  status_listener_ = *std::move(listener);
  return absl::OkStatus();
}

void JobCoordinator::StopListening() {
  listener_.fd.Reset();
  status_listener_.fd.Reset();
}

JobCoordinator::~JobCoordinator() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (options_.record_url.empty() || RunRecordCommand("remove").ok()) return;
  Logger::ToStderr("", LogSeverity::kWarning)
      .Warning(absl::StrCat("the key /phalanx/", options_.job, "/record may be left at ",
                            options_.record_url));
}

void JobCoordinator::Watch(asio::io_context& loop, Logger logger,
                           std::function<void(pid_t)> started) {
  logger_ = std::move(logger);
  started_ = std::move(started);
  process_.emplace(loop);
  AwaitEnd();
  notices_.emplace(loop);
  asio::error_code error;
  notices_->assign(notices_begin_.Release(), error);
  if (!error) ReadNotices();
}

void JobCoordinator::ReadNotices() {
  notices_->async_read_some(asio::buffer(notices_bytes_),
                            [this](const asio::error_code& error, size_t count) {
                              if (error) return;
                              notices_text_.append(notices_bytes_.data(), count);
                              HandleNotices();
                              ReadNotices();
                            });
}

void JobCoordinator::HandleNotices() {
  for (size_t end = notices_text_.find('\n'); end != std::string::npos;
       end = notices_text_.find('\n')) {
    const absl::StatusOr<LauncherNotice> notice = ParseLauncherNotice(notices_text_.substr(0, end));
    notices_text_.erase(0, end + 1);
    if (!notice.ok()) {
      logger_.Warning(std::string(notice.status().message()));
    } else if (noticed_) {
      noticed_(*notice);
    }
  }
}

void JobCoordinator::AwaitEnd() {
  asio::error_code error;
  process_->assign(OpenProcess(pid_).Release(), error);
  if (error) {
    logger_.Warning(absl::StrCat("the coordinator isn't watched: ", error.message()));
    return;
  }
  process_->async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](const asio::error_code& stopped) {
                         if (!stopped) OnEnded();
                       });
}

void JobCoordinator::OnEnded() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return;
  const pid_t ended = std::exchange(pid_, -1);
  process_->close();
  const ProcessEnd end = ProcessEnd::From(status);
  // It exits by itself when the job is over, well or not; nobody is to wait for an answer then.
  if (!end.by_signal && end.value <= 1) {
    StopListening();
    return;
  }
  const std::string line = absl::StrCat("the coordinator (pid ", ended, ") ", end.Describe());
  if (!MayStartAgain()) {
    logger_.Error(absl::StrCat(line, " again and again; it isn't started any more"));
    StopListening();
    return;
  }
  logger_.Warning(absl::StrCat(line, "; starting it again"));
  absl::StatusOr<CoordinatorProcess> process = StartCoordinatorProcess(options_);
  if (!process.ok()) {
    logger_.Error(absl::StrCat("the coordinator can't be started: ", process.status().message()));
    StopListening();
    return;
  }
  pid_ = process->pid;
  started_(pid_);
  AwaitEnd();
}

// One that dies of what it finds would die for ever.
bool JobCoordinator::MayStartAgain() {
  constexpr size_t kMost = 5;
  constexpr Clock::duration kWithin = std::chrono::seconds(10);
  const Clock::time_point now = Clock::now();
  ends_.push_back(now);
  while (ends_.front() < now - kWithin) ends_.pop_front();
  return ends_.size() <= kMost;
}

std::string ThisCommand() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

}  // namespace phalanx::control
