// Where a job's record is kept: changed by one coordinator at a time, found by the next.
#ifndef PHALANX_CONTROL_RECORD_JOB_REGISTER_H_
#define PHALANX_CONTROL_RECORD_JOB_REGISTER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "control_record/job_record.h"

namespace phalanx::control {

// Made by an Open() that claims the record: whatever an earlier holder still tries to write fails
// from then on.
class JobRegister {
 public:
  using Done = std::function<void(const absl::Status&)>;

  virtual ~JobRegister() = default;
  JobRegister(const JobRegister&) = delete;
  JobRegister& operator=(const JobRegister&) = delete;

  // As it was found; nullopt: the job has none yet.
  const std::optional<JobRecord>& found() const { return found_; }

  // Higher than that of every earlier holder of this record; at most 2^43.
  virtual uint64_t claim() const = 0;

  // For one thread, and one at a time: not before `done` of the last was called. `done` is called
  // once, on this thread before Write() returns or on another at any time after; not any more once
  // the register is gone. With OK the record is durable. After an error nothing more may be decided
  // here:
  //   ABORTED            somebody else has changed it
  //   UNAVAILABLE        nothing is known of it; whoever opens the register again finds out
  //   DEADLINE_EXCEEDED  the same, and it was tried for as long as it makes sense
  virtual void Write(const JobRecord& record, Done done) = 0;

 protected:
  explicit JobRegister(std::optional<JobRecord> found = std::nullopt) : found_(std::move(found)) {}

  std::optional<JobRecord> found_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_RECORD_JOB_REGISTER_H_
