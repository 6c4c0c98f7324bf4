#include "control_launch/job_coordinator.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "control_process/coordinator_process.h"
#include "control_process/spawn.h"

namespace phalanx::control {

absl::StatusOr<std::unique_ptr<JobCoordinator>> JobCoordinator::Start(
    const std::string& host, const std::string& report_file) {
  constexpr size_t kSecretBytes = 32;
  CoordinatorProcessOptions options;
  options.program = ThisCommand();
  options.job = RandomJobId();
  options.secret = absl::BytesToHexString(RandomBytes(kSecretBytes));
  options.bind = {host, 0};
  options.report_file = report_file;
  // Programs may compute for days before they join, or never join. Who doesn't come is known here
  // by its end; how long the others wait is up to the deadline that they join with.
  options.join_timeout = std::chrono::milliseconds(std::numeric_limits<int>::max());
  PHX_ASSIGN_OR_RETURN(CoordinatorProcess process, StartCoordinatorProcess(options));
  std::unique_ptr<JobCoordinator> coordinator(new JobCoordinator);
  coordinator->job_ = options.job;
  coordinator->secret_ = options.secret;
  coordinator->endpoint_ = process.endpoint;
  coordinator->pid_ = process.pid;
  return coordinator;
}

JobCoordinator::~JobCoordinator() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
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
