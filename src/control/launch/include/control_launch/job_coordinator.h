// The coordinator of a job that this process launches.
#ifndef PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_
#define PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_process/coordinator_process.h"
#include "control_process/fd.h"
#include "control_process/listen.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/launcher_notice.h"
#include "control_protocol/persist_settings.h"

namespace phalanx::control {

struct JobFiles;
struct NodeAssignment;

// A child process for as long as this object lives, started again when it is killed: its socket is
// kept here, and the job's record here or in etcd. For the main thread (it dies with the thread
// that starts it).
class JobCoordinator {
 public:
  // Listens on a free port of `host`, on `socket` if it is valid, and for the status page, whose
  // URL it says on standard error, where `files` say. Takes what concerns it from `assignment`.
  // UNAVAILABLE as well if the record can't be made where `files` say; why is on standard error by
  // then.
  static absl::StatusOr<std::unique_ptr<JobCoordinator>> Start(const std::string& host,
                                                               const JobFiles& files,
                                                               const NodeAssignment& assignment,
                                                               Fd socket = Fd());
  // Its decisions are made by now: kills and reaps it, and removes the record.
  ~JobCoordinator();
  JobCoordinator(const JobCoordinator&) = delete;
  JobCoordinator& operator=(const JobCoordinator&) = delete;

  // Starts it again on `loop` whenever it dies before the job is over, unless it goes on dying;
  // says so to `logger`, and to `started` which process it is then. From the start of the loop on,
  // and the loop has stopped when this object goes.
  void Watch(asio::io_context& loop, Logger logger, std::function<void(pid_t)> started);
  // What the coordinators say, each maybe more than once if its kind is said again. With Watch().
  void OnNotice(std::function<void(const LauncherNotice&)> noticed) {
    noticed_ = std::move(noticed);
  }
  // Not any more: the loop may go before this object does. Not while it runs.
  void StopWatching() {
    process_.reset();
    notices_.reset();
  }

  const std::string& job() const { return options_.job; }
  const std::string& secret() const { return options_.secret; }
  const Endpoint& endpoint() const { return listener_.endpoint; }
  pid_t pid() const { return pid_; }

 private:
  explicit JobCoordinator(CoordinatorProcessOptions options) : options_(std::move(options)) {}

  void AwaitEnd();
  void OnEnded();
  bool MayStartAgain();
  absl::Status OpenStatusPage(uint16_t port);
  absl::Status MakeRecord(const std::string& url);
  // `phalanx record`, to its end.
  absl::Status RunRecordCommand(const std::string& what) const;
  // Nobody is to wait for an answer any more.
  void StopListening();
  void ReadNotices();
  void HandleNotices();

  CoordinatorProcessOptions options_;
  Listener listener_;
  Listener status_listener_;  // invalid: no page is wanted
  Fd record_;                 // invalid: it is in etcd
  Fd notices_end_;            // the coordinators write to it
  Fd notices_begin_;          // until it is watched
  pid_t pid_ = -1;
  Logger logger_;
  std::function<void(pid_t)> started_;
  std::optional<asio::posix::stream_descriptor> process_;
  std::function<void(const LauncherNotice&)> noticed_;
  std::optional<asio::posix::stream_descriptor> notices_;
  std::array<char, 256> notices_bytes_{};
  std::string notices_text_;
  std::deque<Clock::time_point> ends_;
};

// The file of the `phalanx` command that this process runs.
std::string ThisCommand();
// Processors that this process may use.
int UsableCores();
std::string HostName();

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_JOB_COORDINATOR_H_
