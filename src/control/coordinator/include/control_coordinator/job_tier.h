// The job's part of the persistent tier: which committed versions are written to files, and which
// ones are there to go on from. Files are the agents' matter. Pure.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_TIER_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_TIER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/version.h"
#include "checkpoint_wire/codec.h"
#include "control_coordinator/checkpoint_outputs.h"
#include "control_protocol/persist_settings.h"

namespace phalanx::control {

// One version is written at a time: every agent writes the shards of its ranks, and when all are on
// the disk, the agent of rank 0 writes the manifest. A version that is due meanwhile is left out.
class JobTier {
 public:
  explicit JobTier(PersistSettings settings) : settings_(std::move(settings)) {}

  bool is_on() const { return settings_.is_on(); }

  // Asks the agent of rank 0 what there is, if that isn't known.
  void BeginView(std::vector<checkpoint::AgentId> agents, std::vector<checkpoint::AgentId> owners,
                 CheckpointOutputs* outputs);
  // What is being written is given up.
  void EndView();

  void OnCommitted(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs);
  // Writes it now, unless that was done or tried.
  void WriteLast(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs);
  // All ranks have it.
  void OnRestored(const checkpoint::VersionName& name, const checkpoint::RecordView& record,
                  CheckpointOutputs* outputs);
  // The answer to the question, or a version was written.
  void OnTier(checkpoint::AgentId agent, const checkpoint::Tier& tier, CheckpointOutputs* outputs);
  void OnShardWritten(const checkpoint::ShardWritten& written, CheckpointOutputs* outputs);
  void OnPersistFailed(const checkpoint::PersistFailed& failed, CheckpointOutputs* outputs);

  // Whether it is known what there is. Nobody restores anything before.
  bool known() const { return !settings_.is_on() || known_; }
  // What there is: digests are 0.
  std::vector<checkpoint::RecordedVersion> Versions() const;
  bool writing() const { return writing_.has_value(); }
  // For those who ask how the job is.
  const PersistSettings& settings() const { return settings_; }
  std::optional<checkpoint::VersionName> newest() const;
  std::optional<checkpoint::VersionName> being_written() const;
  uint64_t left_out() const { return left_out_; }
  uint64_t failed() const { return failed_; }

 private:
  struct Writing {
    checkpoint::RecordedVersion version;
    std::set<int> awaited;  // ranks that haven't answered
    std::string problem;    // the first
  };

  const checkpoint::TierVersion* Find(const checkpoint::VersionName& name) const;
  void Begin(const checkpoint::RecordedVersion& version, CheckpointOutputs* outputs);
  void EndIfFailed(CheckpointOutputs* outputs);
  void TellAgents(CheckpointOutputs* outputs) const;

  PersistSettings settings_;
  std::vector<checkpoint::AgentId> agents_;
  std::vector<checkpoint::AgentId> owners_;
  bool known_ = false;
  std::vector<checkpoint::TierVersion> versions_;
  std::optional<Writing> writing_;
  std::optional<checkpoint::VersionName> tried_;        // the last that was begun
  std::optional<checkpoint::VersionName> interrupted_;  // was being written when the view ended
  uint64_t commits_ = 0;
  uint64_t left_out_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_TIER_H_
