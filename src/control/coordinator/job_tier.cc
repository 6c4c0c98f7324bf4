#include "control_coordinator/job_tier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::control {
namespace {

// What happens often is said ever more rarely: the first time, the tenth, the hundredth …
bool IsSaid(uint64_t count) {
  while (count % 10 == 0) count /= 10;
  return count == 1;
}

std::string Times(uint64_t count) {
  return count == 1 ? "" : absl::StrCat(" (", count, " times so far)");
}

}  // namespace

void JobTier::BeginView(std::vector<checkpoint::AgentId> agents,
                        std::vector<checkpoint::AgentId> owners, CheckpointOutputs* outputs) {
  if (!settings_.is_on()) return;
  agents_ = std::move(agents);
  owners_ = std::move(owners);
  if (known_) {
    TellAgents(outputs);
  } else {
    outputs->messages.push_back({owners_.front(), checkpoint::Encode(checkpoint::AskTier{})});
  }
}

void JobTier::EndView() {
  if (writing_.has_value()) interrupted_ = writing_->version.name;
  writing_.reset();
}

void JobTier::TellAgents(CheckpointOutputs* outputs) const {
  const std::string payload = checkpoint::Encode(checkpoint::Tier{versions_, ""});
  for (const checkpoint::AgentId agent : agents_) outputs->messages.push_back({agent, payload});
}

const checkpoint::TierVersion* JobTier::Find(const checkpoint::VersionName& name) const {
  const auto found =
      std::find_if(versions_.begin(), versions_.end(),
                   [&](const checkpoint::TierVersion& version) { return version.name == name; });
  return found == versions_.end() ? nullptr : &*found;
}

std::vector<checkpoint::RecordedVersion> JobTier::Versions() const {
  std::vector<checkpoint::RecordedVersion> versions;
  for (const checkpoint::TierVersion& version : versions_) {
    if (version.ranks != static_cast<int>(owners_.size())) continue;
    versions.push_back({version.name, std::vector<checkpoint::Digest>(owners_.size())});
  }
  return versions;
}

std::optional<checkpoint::VersionName> JobTier::newest() const {
  if (versions_.empty()) return std::nullopt;
  return versions_.front().name;
}

std::optional<checkpoint::VersionName> JobTier::being_written() const {
  if (!writing_.has_value()) return std::nullopt;
  return writing_->version.name;
}

void JobTier::OnTier(checkpoint::AgentId agent, const checkpoint::Tier& tier,
                     CheckpointOutputs* outputs) {
  if (!settings_.is_on() || owners_.empty() || agent != owners_.front()) return;
  if (!known_) {
    if (!tier.problem.empty()) {
      outputs->lost = absl::FailedPreconditionError(
          absl::StrCat("--persist: can't tell what the job is to go on from: ", tier.problem));
      return;
    }
    const int ranks = static_cast<int>(owners_.size());
    if (!tier.versions.empty() && tier.versions.front().ranks != ranks) {
      const checkpoint::TierVersion& newest = tier.versions.front();
      outputs->lost = absl::FailedPreconditionError(absl::StrCat(
          settings_.folder, " holds checkpoints of ", newest.ranks, " ranks (",
          Describe(newest.name), " of job ", newest.job, "), and this job has ", ranks,
          "; start it with ", newest.ranks, " ranks, or with another folder for --persist"));
      return;
    }
    known_ = true;
  } else if (writing_.has_value()) {
    const bool is_there =
        std::any_of(tier.versions.begin(), tier.versions.end(),
                    [&](const auto& version) { return version.name == writing_->version.name; });
    if (is_there) writing_.reset();
  }
  versions_ = tier.versions;
  TellAgents(outputs);
}

void JobTier::OnCommitted(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs) {
  if (!settings_.is_on()) return;
  interrupted_.reset();
  if (++commits_ % static_cast<uint64_t>(settings_.every) != 0) return;
  if (!writing_.has_value()) return Begin(version, outputs);
  if (!IsSaid(++left_out_)) return;
  outputs->lines.push_back(absl::StrCat(Describe(version.name), " isn't written to ",
                                        settings_.folder, ": ", Describe(writing_->version.name),
                                        " still is being written", Times(left_out_)));
}

void JobTier::OnRestored(const checkpoint::VersionName& name, const checkpoint::RecordView& record,
                         CheckpointOutputs* outputs) {
  const checkpoint::TierVersion* const written = Find(name);
  const auto recorded = std::find_if(record.kept.begin(), record.kept.end(),
                                     [&](const auto& version) { return version.name == name; });
  if (recorded == record.kept.end()) {
    if (written == nullptr) return;
    outputs->lines.push_back(
        absl::StrCat(record.kept.empty() ? "cold start from " : "all ranks go back to ",
                     settings_.folder, ": step ", name.version, ", written by job ", written->job));
  } else if (interrupted_ == name && written == nullptr) {
    Begin(*recorded, outputs);
  }
  interrupted_.reset();
}

void JobTier::WriteLast(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs) {
  if (!settings_.is_on() || tried_ == version.name || Find(version.name) != nullptr) return;
  Begin(version, outputs);
}

void JobTier::Begin(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs) {
  const int ranks = static_cast<int>(owners_.size());
  tried_ = version.name;
  writing_.emplace();
  writing_->version = version;
  for (int rank = 0; rank < ranks; ++rank) writing_->awaited.insert(rank);
  const std::string payload = checkpoint::Encode(checkpoint::Persist{version.name, ranks});
  for (const checkpoint::AgentId agent : agents_) outputs->messages.push_back({agent, payload});
}

void JobTier::OnShardWritten(const checkpoint::ShardWritten& written, CheckpointOutputs* outputs) {
  if (!writing_.has_value() || written.name != writing_->version.name ||
      writing_->awaited.erase(written.rank) == 0) {
    return;
  }
  const auto rank = static_cast<size_t>(written.rank);
  if (written.digest == writing_->version.digests[rank]) {
    outputs->messages.push_back({owners_.front(), checkpoint::Encode(written)});
  } else if (writing_->problem.empty()) {
    writing_->problem = absl::StrCat("the copy of rank ", rank, " has gone bad in memory");
  }
  EndIfFailed(outputs);
}

void JobTier::OnPersistFailed(const checkpoint::PersistFailed& failed, CheckpointOutputs* outputs) {
  if (!writing_.has_value() || failed.name != writing_->version.name) return;
  writing_->awaited.erase(failed.rank);
  if (writing_->problem.empty()) writing_->problem = failed.problem;
  EndIfFailed(outputs);
}

// Not before all have answered: nobody writes two versions at once.
void JobTier::EndIfFailed(CheckpointOutputs* outputs) {
  if (!writing_->awaited.empty() || writing_->problem.empty()) return;
  if (IsSaid(++failed_)) {
    outputs->lines.push_back(absl::StrCat(Describe(writing_->version.name), " isn't written: ",
                                          writing_->problem, "; the job goes on", Times(failed_)));
  }
  writing_.reset();
}

}  // namespace phalanx::control
