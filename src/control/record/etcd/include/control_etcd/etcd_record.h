// etcd as the place of a job's record: what loads the module that speaks to it.
#ifndef PHALANX_CONTROL_ETCD_ETCD_RECORD_H_
#define PHALANX_CONTROL_ETCD_ETCD_RECORD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_etcd/keyed_register.h"

namespace phalanx::control {

// Whatever goes on without an answer for so long ends the job.
inline constexpr Clock::duration kEtcdPatience = std::chrono::seconds(60);
inline constexpr uint32_t kMaxEtcdPatienceMs = 86'400'000;

struct EtcdRecordOptions {
  std::string url;  // see keyed_record/etcd_url.h
  std::string job;  // the record's key is /phalanx/JOB/record
  Clock::duration patience = kEtcdPatience;
  Logger logger;
};

// INVALID_ARGUMENT: not a URL of etcd. UNIMPLEMENTED: this installation lacks the module, or the
// machine what the module needs; the text says which. Else as KeyedRegister::Open() etc.
//
// The module's library has threads of its own: don't fork() afterwards.
absl::StatusOr<std::unique_ptr<KeyedRegister>> OpenEtcdRecord(const EtcdRecordOptions& options);
absl::Status CreateEtcdRecord(const EtcdRecordOptions& options);
absl::Status RemoveEtcdRecord(const EtcdRecordOptions& options);

// `phalanx record`, which keeps the module out of the launcher's process; `arguments` without these
// two words: create|remove --etcd URL --job ID --patience-ms N [--die-with PID]. Returns the exit
// status of the process.
int RecordCommand(const std::vector<std::string>& arguments);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_ETCD_ETCD_RECORD_H_
