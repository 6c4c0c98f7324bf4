#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "control_etcd/etcd_record.h"
#include "control_process/arguments.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"

namespace phalanx::control {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

absl::StatusOr<EtcdRecordOptions> Prepare(const std::vector<std::string>& words) {
  PHX_ASSIGN_OR_RETURN(
      const Arguments arguments,
      Arguments::Parse(words, {"--etcd", "--job", "--patience-ms", "--die-with"}, {}));
  EtcdRecordOptions options;
  PHX_ASSIGN_OR_RETURN(options.url, arguments.Text("--etcd"));
  PHX_ASSIGN_OR_RETURN(options.job, arguments.Text("--job"));
  PHX_RETURN_IF_ERROR(ValidateJobId(options.job));
  PHX_ASSIGN_OR_RETURN(const int patience_ms, arguments.Number("--patience-ms", 1000));
  options.patience = std::chrono::milliseconds(patience_ms);
  PHX_ASSIGN_OR_RETURN(const int parent, arguments.Number("--die-with", 0));
  if (parent > 0) PHX_RETURN_IF_ERROR(DieWith(parent));
  return options;
}

}  // namespace

int RecordCommand(const std::vector<std::string>& arguments) {
  const Logger logger = Logger::ToStderr("", LogSeverity::kWarning);
  const bool creates = !arguments.empty() && arguments[0] == "create";
  if (!creates && (arguments.empty() || arguments[0] != "remove")) {
    logger.Error("phalanx record is started by phalanx run");
    return kWrongUsage;
  }
  const absl::StatusOr<EtcdRecordOptions> options =
      Prepare({arguments.begin() + 1, arguments.end()});
  if (!options.ok()) {
    logger.Error(std::string(options.status().message()));
    return kWrongUsage;
  }
  // What it says on the way is in the error that it ends with.
  const absl::Status status = creates ? CreateEtcdRecord(*options) : RemoveEtcdRecord(*options);
  if (status.ok()) return 0;
  logger.Error(std::string(status.message()));
  return kFailed;
}

}  // namespace phalanx::control
