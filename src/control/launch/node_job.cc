#include "control_launch/node_job.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "asio/io_context.hpp"
#include "base/logger.h"
#include "base/status_macros.h"
#include "control_supervisor/keeper.h"
#include "control_supervisor/program.h"
#include "control_supervisor/supervisor.h"
#include "control_supervisor/worker_environment.h"

namespace phalanx::control {
namespace {

constexpr int kExitFailure = 1;

int ExitCodeOf(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kNotFound) return kExitNotFound;
  if (status.code() == absl::StatusCode::kPermissionDenied) return kExitNotExecutable;
  return kExitFailure;
}

class NodeJob : private SupervisorEvents {
 public:
  explicit NodeJob(const NodeAssignment& assignment)
      : assignment_(assignment), logger_(Logger::ToStderr("", LogSeverity::kInfo)) {}

  int Run() {
    const absl::Status status = RunWorkers();
    if (status.ok()) return exit_code_;
    logger_.Error(std::string(status.message()));
    return ExitCodeOf(status);
  }

 private:
  absl::Status RunWorkers();
  absl::StatusOr<std::string> FindWorkerProgram() const;
  SupervisedWorker MakeWorker(int local_rank, const std::string& file) const;

  bool OnWorkerEnded(int, pid_t, int) override { return false; }
  void OnFirstFailure(int rank, pid_t pid, const ProcessEnd& end, int others) override {
    logger_.Error(absl::StrCat("rank ", rank, " (pid ", pid, ") ", end.Describe(),
                               others > 0 ? "; ending the job" : ""));
  }
  void OnEnded(int exit_code) override {
    exit_code_ = exit_code;
    loop_.stop();
  }

  const NodeAssignment& assignment_;
  const Logger logger_;
  asio::io_context loop_;
  int exit_code_ = kExitFailure;
};

absl::Status NodeJob::RunWorkers() {
  PHX_ASSIGN_OR_RETURN(const std::string file, FindWorkerProgram());
  PHX_ASSIGN_OR_RETURN(const std::unique_ptr<Keeper> keeper, Keeper::Start());
  SupervisorOptions options;
  options.grace = assignment_.grace;
  options.logger = logger_;
  options.keeper = keeper.get();
  for (int local_rank = 0; local_rank < assignment_.local_world_size; ++local_rank) {
    options.workers.push_back(MakeWorker(local_rank, file));
  }
  const auto supervisor = Supervisor::Create(loop_, std::move(options), this);
  PHX_RETURN_IF_ERROR(supervisor->Start());
  loop_.run();
  return absl::OkStatus();
}

absl::StatusOr<std::string> NodeJob::FindWorkerProgram() const {
  const char* path = std::getenv("PATH");
  std::error_code ignored;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return FindUserProgram(assignment_.program[0],
                         path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin",
                         FoldersBeside(self));
}

SupervisedWorker NodeJob::MakeWorker(int local_rank, const std::string& file) const {
  WorkerPlace place;
  place.rank = assignment_.first_rank + local_rank;
  place.world_size = assignment_.world_size;
  place.local_rank = local_rank;
  place.local_world_size = assignment_.local_world_size;
  std::map<std::string, std::string> changes = assignment_.variables;
  for (const auto& [name, value] : PlaceVariables(place)) changes[name] = value;
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable) inherited.push_back(*variable);

  SupervisedWorker worker;
  worker.rank = place.rank;
  if (assignment_.label) worker.label = absl::StrCat("[", place.rank, "] ");
  worker.request.file = file;
  worker.request.arguments = assignment_.program;
  worker.request.environment = ChangeEnvironment(inherited, changes);
  worker.request.folder = assignment_.folder;
  worker.request.input = local_rank == 0 ? assignment_.first_input : ChildInput::kNothing;
  return worker;
}

}  // namespace

int RunNode(const NodeAssignment& assignment) { return NodeJob(assignment).Run(); }

}  // namespace phalanx::control
