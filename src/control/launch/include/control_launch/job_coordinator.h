// The coordinator of a job that this process launches.
#ifndef PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_
#define PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control_protocol/endpoint.h"

namespace phalanx::control {

// A child process for as long as this object lives.
class JobCoordinator {
 public:
  // Listens on a free port of `host`. From the main thread (it dies with the thread that starts
  // it). Reports go to `report_file` too; empty: where PHALANX_REPORT_FILE says, or nowhere.
  static absl::StatusOr<std::unique_ptr<JobCoordinator>> Start(const std::string& host,
                                                               const std::string& report_file);
  // Its decisions are made by now: kills and reaps it.
  ~JobCoordinator();
  JobCoordinator(const JobCoordinator&) = delete;
  JobCoordinator& operator=(const JobCoordinator&) = delete;

  const std::string& job() const { return job_; }
  const std::string& secret() const { return secret_; }
  const Endpoint& endpoint() const { return endpoint_; }
  pid_t pid() const { return pid_; }

 private:
  JobCoordinator() = default;

  std::string job_;
  std::string secret_;
  Endpoint endpoint_;
  pid_t pid_ = -1;
};

// The file of the `phalanx` command that this process runs.
std::string ThisCommand();
// Processors that this process may use.
int UsableCores();
std::string HostName();

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_
