// The job's part of checkpoints: the pure cores of saving and restoring between the agents' bytes.
// Pure as well.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "checkpoint/commit.h"
#include "checkpoint/placement.h"
#include "checkpoint/restore.h"
#include "checkpoint_wire/codec.h"
#include "control_coordinator/checkpoint_outputs.h"
#include "control_coordinator/job_tier.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/job_settings.h"

namespace phalanx::control {

struct ReplicaSettings {
  int wanted = kDefaultReplicas;  // copies of each shard, the owner's included
  bool is_asked = false;          // by the user: fewer are said even where more never were possible
};

struct ReplicaHealth {
  int wanted = 0;         // copies of each shard
  int placed = 0;         // so many there can be
  bool missing = false;   // somebody was lost, and not all copies are there again
  bool degraded = false;  // fewer can be placed than are wanted, and that is worth saying
};

// Lives as long as its coordinator: what is committed outlives views.
class JobCheckpoints {
 public:
  using ToAgent = CheckpointOutputs::ToAgent;
  using Outputs = CheckpointOutputs;

  struct Agent {
    checkpoint::AgentId id = 0;
    std::string name;     // for the log: "node 0 'alpha'"
    std::string machine;  // equal for those that fall together; empty: it falls alone
    Endpoint peers;       // where it listens for the others
  };

  // Goes on from what the job's record says.
  explicit JobCheckpoints(checkpoint::RecordView record = {}, PersistSettings persist = {})
      : record_(std::move(record)), tier_(std::move(persist)) {}

  // `agents`: all that are there. `owners`: each rank's, one of them. Asks all agents what they
  // hold; then every rank is told what to restore, unless it doesn't before Restore() is called,
  // and missing copies are made again.
  Outputs BeginView(Epoch epoch, std::vector<Agent> agents, std::vector<checkpoint::AgentId> owners,
                    const ReplicaSettings& replicas, bool restores = true);
  // In such a view: it does after all.
  Outputs Restore();
  // The view is revoked: what was not committed is given up. Until the next view begins there are
  // no outputs.
  void EndView();
  // An agent without ranks is gone.
  Outputs LoseAgent(checkpoint::AgentId agent);

  // Repeats what has failed; call it about once a second.
  Outputs Again();

  // INVALID_ARGUMENT: nothing was done, and the agent must not be listened to any more.
  absl::Status FromAgent(checkpoint::AgentId agent, absl::string_view payload, Outputs* outputs);

  // What the job's record is to say of checkpoints.
  const checkpoint::RecordView& record() const { return writing_ ? *writing_ : record_; }
  // What it does say.
  const checkpoint::RecordView& durable() const { return record_; }
  // It says what it is to. From `writes` until then nothing else is called.
  Outputs RecordWritten();

  // The newest committed version; kInitialVersion before the first.
  checkpoint::VersionName newest() const { return checkpoint::Newest(record_); }
  // Of that rank's shard, as placed last: the first one is the rank's own agent. 0: there is none.
  checkpoint::AgentId HolderOf(int rank, int copy) const;
  // Whether the newest committed version is elsewhere, too: all shards that this agent holds have
  // another holder, or there are files. Before the first one, or before anything was placed: yes.
  bool HasCopiesWithout(checkpoint::AgentId agent) const;
  // A version is being written to files.
  bool writing() const { return tier_.writing(); }
  // A version is on its way that may be written to files.
  bool is_saving() const { return tier_.is_on() && commit_ != nullptr && commit_->saving(); }
  const JobTier& tier() const { return tier_; }
  ReplicaHealth replicas() const {
    return {replicas_.wanted, copies_, was_lost_, told_copies_.has_value()};
  }
  // In this view all ranks have what they go on from.
  bool restored() const { return restored_ || !restores_; }
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
  void OnCopyEnded(checkpoint::AgentId to, const checkpoint::CopyEnded& ended, Outputs* outputs);
  // Tells `to` first where the one is from whom it is to read.
  void SendWithAddress(checkpoint::AgentId to, checkpoint::AgentId from,
                       const checkpoint::Message& message, Outputs* outputs) const;
  void SayCorrupt(const checkpoint::VersionName& name, int rank, checkpoint::AgentId holder,
                  Outputs* outputs);
  void SayIfDegraded(const checkpoint::Placement& placement, Outputs* outputs);
  std::vector<checkpoint::AgentId> Ids() const;
  const Agent* Find(checkpoint::AgentId id) const;
  std::string NameOf(checkpoint::AgentId id) const;

  checkpoint::RecordView record_;                  // that is durable
  std::optional<checkpoint::RecordView> writing_;  // and what is to be
  JobTier tier_;
  ReplicaSettings replicas_;
  std::vector<Agent> agents_;
  std::vector<checkpoint::AgentId> owners_;
  std::vector<std::vector<checkpoint::AgentId>> holders_;  // by rank, as placed last
  std::vector<checkpoint::Inventory> inventories_;
  std::unique_ptr<checkpoint::Commit> commit_;    // null: no view
  std::unique_ptr<checkpoint::Restore> restore_;  // null: not all is known yet
  uint64_t rounds_ = 0;                           // of the restores that were given up
  bool restored_ = false;                         // in this view
  bool restores_ = true;                          // the same
  uint64_t bytes_restored_ = 0;
  int copies_ = 1;                  // of each shard, as placed
  int most_copies_ = 1;             // that were ever possible
  std::optional<int> told_copies_;  // that it is degraded to so many
  bool was_lost_ = false;           // somebody, so that copies may be missing
  std::string lost_;                // the last lost shard
  uint64_t bytes_copied_ = 0;
  bool failed_ = false;  // a copy, which is to be tried again
  std::set<std::tuple<checkpoint::VersionName, int, checkpoint::AgentId>> corrupt_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_
