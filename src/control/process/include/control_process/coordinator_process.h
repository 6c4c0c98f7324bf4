// Starting the job's coordinator as a child process.
#ifndef PHALANX_CONTROL_PROCESS_COORDINATOR_PROCESS_H_
#define PHALANX_CONTROL_PROCESS_COORDINATOR_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "control_process/fd.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/persist_settings.h"

namespace phalanx::control {

struct CoordinatorProcessOptions {
  std::string program;  // path of the `phalanx` command; see FindProgram()
  std::string job;
  std::string secret;  // kMinSecretBytes … kMaxSecretBytes; the agents derive their key from it too
  Endpoint bind = {"127.0.0.1", 0};  // port 0: whichever is free
  // A listening socket that it takes part in instead, and the log of the job's record; both are
  // borrowed, so that another coordinator can go on with them. Or -1.
  int listen_fd = -1;
  int record_fd = -1;
  std::string record_url;  // where the record is, if it isn't in such a log
  int status_fd = -1;      // a listening socket for its status page; borrowed as well. Or -1
  // Borrowed, too: the pipe into which it writes what the launcher is to know, a LauncherNotice
  // (control_protocol/launcher_notice.h) a line. Or -1.
  int launcher_fd = -1;
  Clock::duration join_timeout = std::chrono::seconds(60);
  // Where it appends its reports; empty: nowhere. An absolute path.
  std::string report_file;
  std::string events_file;  // and what happens, for programs
  PersistSettings persist;
  std::string faults;  // that the job is to suffer; see faults/fault.h
  // True: the coordinator is the caller's child, who waits for it, and it is killed with the thread
  // that started it (so start it from one that lives as long as the process).
  // False: it lives in a session of its own, nobody's child, until the job is over; it ends early
  // when `lifeline` is closed (by us or our end) before anybody has joined.
  bool attached = true;
};

struct CoordinatorProcess {
  pid_t pid = -1;     // when attached
  Endpoint endpoint;  // where agents reach it; empty with a `listen_fd`
  Fd lifeline;        // when not attached
};

//   ALREADY_EXISTS    the address is in use
//   INVALID_ARGUMENT  not an address of this machine
//   NOT_FOUND         the program can't be started
absl::StatusOr<CoordinatorProcess> StartCoordinatorProcess(
    const CoordinatorProcessOptions& options);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_COORDINATOR_PROCESS_H_
