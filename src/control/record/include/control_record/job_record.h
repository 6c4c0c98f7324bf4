// What a job agrees on about itself, and what a coordinator that takes over goes on from.
#ifndef PHALANX_CONTROL_RECORD_JOB_RECORD_H_
#define PHALANX_CONTROL_RECORD_JOB_RECORD_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/version.h"
#include "control_protocol/message.h"

namespace phalanx::control {

struct JobRecord {
  // The newest that was decided; agents may not have heard of it. With all faults that were
  // performed, those of this view included.
  message::View view;
  checkpoint::RecordView checkpoints;
  bool finished = false;        // all ranks of the view have
  std::set<int> late_nodes;     // that have come since the view began, with spares
  std::set<int> evicted_nodes;  // that were silent; whatever comes from them is refused

  bool operator==(const JobRecord&) const = default;
};

std::string Encode(const JobRecord& record);

// Any bytes are safe to pass. INVALID_ARGUMENT: not a record.
absl::StatusOr<JobRecord> DecodeJobRecord(absl::string_view bytes);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_RECORD_JOB_RECORD_H_
