#include "control_record/job_record.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "record_bytes.h"

namespace phalanx::control {

std::string Encode(const JobRecord& record) {
  flatbuffers::FlatBufferBuilder builder;
  const auto view = PackBytes(builder, Encode(Message(record.view)));
  std::vector<flatbuffers::Offset<record_wire::KeptVersion>> kept;
  for (const checkpoint::RecordedVersion& version : record.checkpoints.kept) {
    std::vector<record_wire::Digest> digests;
    for (const checkpoint::Digest& digest : version.digests) {
      digests.emplace_back(digest.high, digest.low);
    }
    const auto packed = builder.CreateVectorOfStructs(digests);
    kept.push_back(
        record_wire::CreateKeptVersion(builder, version.name.version, version.name.epoch, packed));
  }
  const auto versions = builder.CreateVector(kept);
  const auto evicted = builder.CreateVector(
      std::vector<int>(record.evicted_nodes.begin(), record.evicted_nodes.end()));
  const auto late =
      builder.CreateVector(std::vector<int>(record.late_nodes.begin(), record.late_nodes.end()));
  return FinishRecord(builder, record_wire::CreateJobRecord(
                                   builder, view, record.finished, record.checkpoints.term.epoch,
                                   record.checkpoints.term.claim, versions, evicted, late));
}

absl::StatusOr<JobRecord> DecodeJobRecord(absl::string_view bytes) {
  const std::vector<uint64_t> aligned = Aligned(bytes);
  const auto* from = VerifiedRecord<record_wire::JobRecord>(aligned, bytes.size());
  if (from == nullptr) return absl::InvalidArgumentError("these bytes are no record of a job");
  PHX_ASSIGN_OR_RETURN(Message view, Decode(UnpackBytes(*from->view())));
  if (!std::holds_alternative<message::View>(view)) {
    return absl::InvalidArgumentError("the record of the job has no view");
  }
  JobRecord record;
  record.view = std::get<message::View>(std::move(view));
  record.finished = from->finished();
  record.checkpoints.term = {from->term_epoch(), from->term_claim()};
  if (from->evicted_nodes() != nullptr) {
    record.evicted_nodes.insert(from->evicted_nodes()->begin(), from->evicted_nodes()->end());
  }
  if (from->late_nodes() != nullptr) {
    record.late_nodes.insert(from->late_nodes()->begin(), from->late_nodes()->end());
  }
  for (const record_wire::KeptVersion* kept : *from->kept()) {
    checkpoint::RecordedVersion version{{kept->version(), kept->epoch()}, {}};
    if (kept->digests()->size() != record.view.members.size()) {
      return absl::InvalidArgumentError("the record of the job has a version of other ranks");
    }
    for (const record_wire::Digest* digest : *kept->digests()) {
      version.digests.push_back({digest->high(), digest->low()});
    }
    record.checkpoints.kept.push_back(std::move(version));
  }
  return record;
}

}  // namespace phalanx::control
