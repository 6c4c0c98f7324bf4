#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_coordinator/process.h"
#include "control_etcd/etcd_record.h"
#include "control_process/arguments.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"
#include "control_protocol/message.h"

namespace phalanx::control {
namespace {

constexpr int kWrongUsage = 2;

// Milliseconds from the environment.
absl::StatusOr<Clock::duration> DurationOf(const char* variable, uint32_t most_ms,
                                           Clock::duration otherwise) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  uint32_t ms = 0;
  if (absl::SimpleAtoi(text, &ms) && ms > 0 && ms <= most_ms) {
    return std::chrono::milliseconds(ms);
  }
  return absl::InvalidArgumentError(absl::StrCat(variable, "=", text, "; wanted 1 to ", most_ms));
}

absl::StatusOr<CoordinatorOptions> Prepare(const std::vector<std::string>& words) {
  PHX_ASSIGN_OR_RETURN(
      const Arguments arguments,
      Arguments::Parse(
          words,
          {"--job", "--listen-fd", "--key-fd", "--record-fd", "--record", "--lifeline-fd",
           "--status-fd", "--launcher-fd", "--join-timeout-ms", "--report", "--events", "--faults",
           "--persist", "--persist-every", "--persist-keep", "--die-with"},
          {"--detach"}));
  CoordinatorOptions options;
  PHX_ASSIGN_OR_RETURN(options.job, arguments.Text("--job"));
  PHX_RETURN_IF_ERROR(ValidateJobId(options.job));
  PHX_ASSIGN_OR_RETURN(options.listen_fd, arguments.Number("--listen-fd", -1));
  PHX_ASSIGN_OR_RETURN(options.lifeline_fd, arguments.Number("--lifeline-fd", -1));
  PHX_ASSIGN_OR_RETURN(options.record_fd, arguments.Number("--record-fd", -1));
  PHX_ASSIGN_OR_RETURN(options.status_fd, arguments.Number("--status-fd", -1));
  PHX_ASSIGN_OR_RETURN(options.launcher_fd, arguments.Number("--launcher-fd", -1));
  PHX_ASSIGN_OR_RETURN(options.witness_wait, DurationOf("PHALANX_WITNESS_WAIT_MS",
                                                        kMaxWitnessWaitMs, options.witness_wait));
  PHX_ASSIGN_OR_RETURN(
      options.record_patience,
      DurationOf("PHALANX_RECORD_TIMEOUT_MS", kMaxEtcdPatienceMs, options.record_patience));
  if (arguments.Has("--record")) {
    PHX_ASSIGN_OR_RETURN(options.record_url, arguments.Text("--record"));
  }
  PHX_ASSIGN_OR_RETURN(const int key_fd, arguments.Number("--key-fd", -1));
  if (options.listen_fd < 0 || key_fd < 0) {
    return absl::InvalidArgumentError("--listen-fd and --key-fd are needed");
  }
  PHX_ASSIGN_OR_RETURN(const int timeout_ms, arguments.Number("--join-timeout-ms", 60000));
  options.join_timeout = std::chrono::milliseconds(timeout_ms);
  if (arguments.Has("--report")) {
    PHX_ASSIGN_OR_RETURN(options.report_file, arguments.Text("--report"));
  } else if (const char* path = std::getenv("PHALANX_REPORT_FILE"); path != nullptr) {
    options.report_file = path;
  }
  if (arguments.Has("--events")) {
    PHX_ASSIGN_OR_RETURN(options.events_file, arguments.Text("--events"));
  }
  for (std::string* path : {&options.report_file, &options.events_file}) {
    std::error_code ignored;  // before Detach() leaves the folder
    if (!path->empty()) *path = std::filesystem::absolute(*path, ignored).string();
  }
  if (arguments.Has("--faults")) {
    PHX_ASSIGN_OR_RETURN(const std::string text, arguments.Text("--faults"));
    PHX_ASSIGN_OR_RETURN(options.faults, faults::ParseFaults(text));
  }
  if (arguments.Has("--persist")) {
    PHX_ASSIGN_OR_RETURN(options.persist.folder, arguments.Text("--persist"));
    PHX_ASSIGN_OR_RETURN(options.persist.every, arguments.Number("--persist-every", 1));
    options.persist.every = std::max(options.persist.every, 1);
    PHX_ASSIGN_OR_RETURN(options.persist.keep, arguments.Number("--persist-keep", 0));
  }
  PHX_ASSIGN_OR_RETURN(const int parent, arguments.Number("--die-with", 0));
  if (parent > 0) PHX_RETURN_IF_ERROR(DieWith(parent));
  PHX_ASSIGN_OR_RETURN(const std::string secret, ReadToEnd(key_fd, kMaxSecretBytes));
  PHX_ASSIGN_OR_RETURN(options.key, DeriveKey(secret));
  if (arguments.Has("--detach")) PHX_RETURN_IF_ERROR(Detach());
  return options;
}

}  // namespace

int CoordinatorCommand(const std::vector<std::string>& arguments) {
  const Logger logger = Logger::ToStderr("coordinator", LogSeverity::kWarning);
  absl::StatusOr<CoordinatorOptions> options = Prepare(arguments);
  if (!options.ok()) {
    logger.Error(std::string(options.status().message()));
    return kWrongUsage;
  }
  options->logger = logger;
  return RunCoordinator(*std::move(options));
}

}  // namespace phalanx::control
