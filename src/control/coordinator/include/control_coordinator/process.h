// The coordinator as a process: what runs inside. control_process/coordinator_process.h starts it.
#ifndef PHALANX_CONTROL_COORDINATOR_PROCESS_H_
#define PHALANX_CONTROL_COORDINATOR_PROCESS_H_

#include <chrono>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/logger.h"
#include "control_channel/job_key.h"
#include "control_protocol/persist_settings.h"
#include "faults/fault.h"

namespace phalanx::control {

// Exit code: the record can't be written, so nothing more may be decided here. Another coordinator
// may find out what became of it.
inline constexpr int kExitRecordLost = 3;

struct CoordinatorOptions {
  std::string job;
  JobKey key;
  int listen_fd = -1;    // a listening TCP socket; owned by the coordinator from then on
  int lifeline_fd = -1;  // end of file: the creator is gone, so end if nobody has joined. Or -1
  // The log of the job's record; owned from then on. Somebody starts another coordinator on it when
  // this one is gone. Or -1: the record ends with this process, and the job too.
  int record_fd = -1;
  // Instead of that: where the job's record is, etcd://… (control_etcd/etcd_record.h); empty:
  // nowhere else. It is there already, and stays when this process ends.
  std::string record_url;
  // How long etcd may be away, each time that the record is to be written, until the job ends.
  Clock::duration record_patience = std::chrono::seconds(60);
  // A listening socket on which it shows how the job is (control_status_page); owned from then on.
  // Or -1.
  int status_fd = -1;
  // A pipe to whoever starts the agents, which doesn't block: each LauncherNotice, as a line. Or
  // -1.
  int launcher_fd = -1;
  // How long other agents wait for an answer of one that is silent, before its node is evicted.
  Clock::duration witness_wait = std::chrono::seconds(3);
  // From the start until somebody joins, and from then on until all have joined.
  Clock::duration join_timeout = std::chrono::seconds(60);
  // How long a connection may take to prove that it has the key and to say who it is.
  Clock::duration handshake_timeout = std::chrono::seconds(5);
  // Each report is appended to it as one line of JSON; empty: to none.
  std::string report_file;
  std::string events_file;  // the same for each JobEvent
  PersistSettings persist;
  // Of the whole job: it suffers those that are its own.
  std::vector<faults::Fault> faults;
  Logger logger;
};

// Serves one job on the calling thread and returns when it is over: 0 when every rank left orderly,
// 1 otherwise, also when etcd was away for too long or has lost the record; or kExitRecordLost.
int RunCoordinator(CoordinatorOptions options);

// `phalanx coordinator`; `arguments` without these two words:
//   --job ID --listen-fd N --key-fd N [--record-fd N | --record URL] [--lifeline-fd N] [--status-fd
//   N]
//   [--launcher-fd N] [--join-timeout-ms N] [--report FILE] [--events FILE] [--faults TEXT]
//   [--die-with PID]
//   [--detach]
// Without --report, PHALANX_REPORT_FILE counts. PHALANX_WITNESS_WAIT_MS is CoordinatorOptions'
// witness_wait, PHALANX_RECORD_TIMEOUT_MS its record_patience. Returns the exit status of the
// process. --key-fd gives the job's secret until end of file; it is never in the arguments or the
// environment.
// --die-with ends us (SIGKILL) with our parent of that number; --detach goes on in a child with its
// own session, so that the caller reaps us at once.
int CoordinatorCommand(const std::vector<std::string>& arguments);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_PROCESS_H_
