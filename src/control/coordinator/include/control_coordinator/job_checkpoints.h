// The job's part of checkpoints: the pure cores of saving and restoring between the agents' bytes.
// Pure as well.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "checkpoint_wire/codec.h"
#include "control_coordinator/checkpoint_outputs.h"
#include "control_coordinator/job_tier.h"

namespace phalanx::control {

// Lives as long as its coordinator: what is committed outlives views.
class JobCheckpoints {
 public:
  using ToAgent = CheckpointOutputs::ToAgent;
  using Outputs = CheckpointOutputs;

  // Goes on from what the job's record says.
  explicit JobCheckpoints(checkpoint::RecordView record = {}, PersistSettings persist = {})
      : record_(std::move(record)), tier_(std::move(persist)) {}

  // `agents`: all that are there. `owners`: each rank's, one of them. Asks all agents what they
  // hold; then every rank is told what to restore.
  Outputs BeginView(Epoch epoch, std::vector<checkpoint::AgentId> agents,
                    std::vector<checkpoint::AgentId> owners);
  // The view is revoked: what was not committed is given up. Until the next view begins there are
  // no outputs.
  void EndView();
  // An agent without ranks is gone.
  Outputs LoseAgent(checkpoint::AgentId agent);

  // INVALID_ARGUMENT: nothing was done, and the agent must not be listened to any more.
  absl::Status FromAgent(checkpoint::AgentId agent, absl::string_view payload, Outputs* outputs);

  // What the job's record is to say of checkpoints.
  const checkpoint::RecordView& record() const { return writing_ ? *writing_ : record_; }
  // It does. From `writes` until then nothing else is called.
  Outputs RecordWritten();

  // The newest committed version; kInitialVersion before the first.
  checkpoint::VersionName newest() const { return checkpoint::Newest(record_); }
  // A version is being written to files.
  bool writing() const { return tier_.writing(); }
  // A version is on its way that may be written to files.
  bool is_saving() const { return tier_.is_on() && commit_ != nullptr && commit_->saving(); }
  // The job ends: the newest committed version is written even if it isn't due. Not while one is.
  Outputs WriteLast();

 private:
  // As a new coordinator of this epoch would: all that depends on who is there begins anew.
  void Claim(Outputs* outputs);
  void Perform(const std::vector<checkpoint::CommitOutput>& todo, Outputs* outputs);
  void Perform(const std::vector<checkpoint::RestoreOutput>& todo, Outputs* outputs);
  void OnInventory(checkpoint::Inventory inventory, Outputs* outputs);
  void BeginRestoreIfReady(Outputs* outputs);
  bool ForTier(checkpoint::AgentId agent, const checkpoint::Message& message, Outputs* outputs);
  void OnFetchEnded(const checkpoint::FetchEnded& ended, Outputs* outputs);

  checkpoint::RecordView record_;                  // that is durable
  std::optional<checkpoint::RecordView> writing_;  // and what is to be
  JobTier tier_;
  std::vector<checkpoint::AgentId> agents_;
  std::vector<checkpoint::AgentId> owners_;
  std::vector<checkpoint::Inventory> inventories_;
  std::unique_ptr<checkpoint::Commit> commit_;    // null: no view
  std::unique_ptr<checkpoint::Restore> restore_;  // null: not all is known yet
  bool restored_ = false;                         // in this view
  uint64_t bytes_restored_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_
