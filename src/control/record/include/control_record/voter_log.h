// A voter's state in a file: what it must not forget, whatever happens to its process.
#ifndef PHALANX_CONTROL_RECORD_VOTER_LOG_H_
#define PHALANX_CONTROL_RECORD_VOTER_LOG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "membership/voter.h"

namespace phalanx::control {

// The file has two places that are written in turn, each with a number that rises and a checksum:
// a write that was cut off leaves the state before it. It may be a memfd: then it lasts as long as
// somebody holds it. For one thread.
class VoterLog {
 public:
  // Takes the file for this process, for as long as it lives: two voters with one log would promise
  // against each other. A file in which no state is whole is a new log, of a voter with a new name.
  //   FAILED_PRECONDITION  another process has it
  //   UNAVAILABLE          it can't be read or written; the text says why
  static absl::StatusOr<VoterLog> Open(Fd file);

  // What is in the file.
  const membership::VoterState& state() const { return state_; }

  // Returns when it is on the disk. UNAVAILABLE: it may be there or not, and the voter must end.
  absl::Status Write(const membership::VoterState& state);

 private:
  explicit VoterLog(Fd file) : file_(std::move(file)) {}

  Fd file_;
  uint64_t number_ = 0;  // of the newest
  membership::VoterState state_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_RECORD_VOTER_LOG_H_
