#include "control_agent/command.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "control_agent/agent.h"
#include "control_process/arguments.h"
#include "control_process/fd.h"
#include "control_process/machine.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"

namespace phalanx::control {
namespace {

constexpr int kWrongUsage = 2;
constexpr int kFailed = 1;

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "?";
}

struct Prepared {
  AgentOptions options;
  Fd ready;  // closed once we listen or never will
};

absl::StatusOr<Prepared> Prepare(const std::vector<std::string>& words) {
  PHX_ASSIGN_OR_RETURN(
      const Arguments arguments,
      Arguments::Parse(words,
                       {"--job", "--coordinator", "--key-fd", "--socket", "--ready-fd",
                        "--node-name", "--cores", "--connect-timeout-ms"},
                       {"--detach"}));
  Prepared prepared;
  AgentOptions& options = prepared.options;
  PHX_ASSIGN_OR_RETURN(const int ready_fd, arguments.Number("--ready-fd", -1));
  prepared.ready = Fd(ready_fd);
  PHX_ASSIGN_OR_RETURN(options.job, arguments.Text("--job"));
  PHX_ASSIGN_OR_RETURN(const std::string coordinator, arguments.Text("--coordinator"));
  PHX_ASSIGN_OR_RETURN(options.coordinator, ParseEndpoint(coordinator));
  PHX_ASSIGN_OR_RETURN(const int key_fd, arguments.Number("--key-fd", -1));
  if (key_fd < 0) return absl::InvalidArgumentError("--key-fd is missing");
  PHX_ASSIGN_OR_RETURN(const std::string secret, ReadToEnd(key_fd, kMaxSecretBytes));
  PHX_ASSIGN_OR_RETURN(options.key, DeriveKey(secret));
  if (arguments.Has("--socket")) {
    PHX_ASSIGN_OR_RETURN(options.socket_name, arguments.Text("--socket"));
  }
  options.machine = MachineId();
  options.node_name = HostName();
  if (arguments.Has("--node-name")) {
    PHX_ASSIGN_OR_RETURN(options.node_name, arguments.Text("--node-name"));
  }
  PHX_ASSIGN_OR_RETURN(options.cores, arguments.Number("--cores", UsableCores()));
  PHX_ASSIGN_OR_RETURN(const int timeout_ms, arguments.Number("--connect-timeout-ms", 10000));
  options.connect_timeout = std::chrono::milliseconds(timeout_ms);
  if (arguments.Has("--detach")) PHX_RETURN_IF_ERROR(Detach());
  return prepared;
}

class UntilDeserted : public AgentEvents {
 public:
  void OnRevoked(const absl::Status& /*reason*/) override {}
  void OnJobOver(const absl::Status& /*status*/) override {}
  void OnDeserted() override { deserted_.set_value(); }
  void Wait() { deserted_.get_future().wait(); }

 private:
  std::promise<void> deserted_;
};

// Every worker's segment passes through us.
void AllowManyFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int AgentCommand(const std::vector<std::string>& arguments) {
  const Logger logger = Logger::ToStderr("agent", LogSeverity::kWarning);
  absl::StatusOr<Prepared> prepared = Prepare(arguments);
  if (!prepared.ok()) {
    logger.Error(std::string(prepared.status().message()));
    return kWrongUsage;
  }
  AllowManyFiles();
  prepared->options.logger = logger;
  UntilDeserted events;
  absl::StatusOr<std::unique_ptr<Agent>> agent =
      Agent::Start(std::move(prepared->options), &events);
  prepared->ready.Reset(-1);
  // Somebody else's agent of this job was first: the workers will find it.
  if (absl::IsAlreadyExists(agent.status())) return 0;
  if (!agent.ok()) {
    logger.Error(std::string(agent.status().message()));
    return kFailed;
  }
  events.Wait();
  constexpr auto kLastWords = std::chrono::seconds(5);
  (*agent)->Stop(Deadline::After(kLastWords));
  return 0;
}

}  // namespace phalanx::control
