// The register that holds a job's record, with one voter: in this process, on a log that outlives
// it.
#ifndef PHALANX_CONTROL_RECORD_LOGGED_REGISTER_H_
#define PHALANX_CONTROL_RECORD_LOGGED_REGISTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "control_record/job_record.h"
#include "control_record/job_register.h"
#include "control_record/voter_log.h"
#include "membership/proposer.h"
#include "membership/voter.h"

namespace phalanx::control {

class LoggedRegister final : public JobRegister {
 public:
  // Errors are VoterLog::Open()'s, and INVALID_ARGUMENT: what is kept there is no record.
  static absl::StatusOr<std::unique_ptr<LoggedRegister>> Open(Fd log);

  // Durable when it returns.
  void Write(const JobRecord& record, Done done) override;
  // One more with each change of the record.
  uint64_t claim() const override { return proposer_.known()->version; }

 private:
  explicit LoggedRegister(VoterLog log);

  // Carries what proposer and voter say to each other until the request has ended.
  absl::StatusOr<membership::Outcome> Perform(const membership::Request& request);
  absl::Status Step(const membership::ProposerInput& input,
                    std::optional<membership::Outcome>* outcome);
  absl::Status Ask(const membership::VoterInput& input,
                   std::optional<membership::Outcome>* outcome);
  absl::Status CompareAndSet(std::string value);

  VoterLog log_;
  membership::Voter voter_;
  membership::Proposer proposer_;
  int64_t now_ns_ = 0;  // as the proposer sees it
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_RECORD_LOGGED_REGISTER_H_
