#include "control_process/coordinator_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_process/listen.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"

namespace phalanx::control {

absl::StatusOr<CoordinatorProcess> StartCoordinatorProcess(
    const CoordinatorProcessOptions& options) {
  PHX_RETURN_IF_ERROR(ValidateJobId(options.job));
  Listener listener;
  if (options.listen_fd < 0) {
    PHX_ASSIGN_OR_RETURN(listener, Listen(options.bind));
  }
  const int listen_fd = options.listen_fd < 0 ? listener.fd.get() : options.listen_fd;
  PHX_ASSIGN_OR_RETURN(const Fd key, PipeHolding(options.secret));
  const auto join_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.join_timeout);
  std::vector<std::string> arguments = {"coordinator",
                                        "--job",
                                        options.job,
                                        "--listen-fd",
                                        absl::StrCat(listen_fd),
                                        "--key-fd",
                                        absl::StrCat(key.get()),
                                        "--join-timeout-ms",
                                        absl::StrCat(join_timeout.count())};
  for (const auto& [option, text] :
       {std::pair{"--report", options.report_file}, std::pair{"--events", options.events_file},
        std::pair{"--record", options.record_url}, std::pair{"--faults", options.faults}}) {
    if (!text.empty()) arguments.insert(arguments.end(), {option, text});
  }
  std::vector<int> kept = {listen_fd, key.get()};
  for (const auto& [option, fd] :
       {std::pair{"--record-fd", options.record_fd}, std::pair{"--status-fd", options.status_fd},
        std::pair{"--launcher-fd", options.launcher_fd}}) {
    if (fd < 0) continue;
    arguments.insert(arguments.end(), {option, absl::StrCat(fd)});
    kept.push_back(fd);
  }
  if (options.persist.is_on()) {
    arguments.insert(arguments.end(), {"--persist", options.persist.folder, "--persist-every",
                                       absl::StrCat(options.persist.every), "--persist-keep",
                                       absl::StrCat(options.persist.keep)});
  }

  CoordinatorProcess process;
  process.endpoint = listener.endpoint;
  Fd lifeline;
  if (options.attached) {
    arguments.insert(arguments.end(), {"--die-with", absl::StrCat(::getpid())});
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
    }
    lifeline = Fd(ends[0]);
    process.lifeline = Fd(ends[1]);
    kept.push_back(lifeline.get());
    arguments.insert(arguments.end(), {"--detach", "--lifeline-fd", absl::StrCat(lifeline.get())});
  }
  PHX_ASSIGN_OR_RETURN(process.pid, Spawn(options.program, arguments, kept));
  if (!options.attached) {
    constexpr auto kDetachTimeout = std::chrono::seconds(30);
    PHX_ASSIGN_OR_RETURN(const int status, WaitForExit(std::exchange(process.pid, -1),
                                                       Deadline::After(kDetachTimeout)));
    if (status != 0) {
      return absl::UnavailableError(
          absl::StrCat(options.program, " coordinator failed to start (wait status ", status, ")"));
    }
  }
  return process;
}

}  // namespace phalanx::control
