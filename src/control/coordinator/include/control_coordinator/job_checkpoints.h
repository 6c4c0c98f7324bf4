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

namespace phalanx::control {

// Lives as long as its coordinator: what is committed outlives views.
class JobCheckpoints {
 public:
  // Goes on from what the job's record says.
  explicit JobCheckpoints(checkpoint::RecordView record = {}) : record_(std::move(record)) {}

  struct ToAgent {
    checkpoint::AgentId agent = 0;
    std::string payload;
  };
  struct Outputs {
    std::vector<ToAgent> messages;                    // to be sent in this order
    std::vector<std::string> lines;                   // for the log
    std::optional<checkpoint::VersionName> restored;  // all ranks have it
    uint64_t bytes_restored = 0;                      // over all ranks
    absl::Status lost;                                // not OK: nothing is left to go on from
    bool writes = false;                              // record() is to be made durable
  };

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

 private:
  // As a new coordinator of this epoch would: all that depends on who is there begins anew.
  void Claim(Outputs* outputs);
  void Perform(const std::vector<checkpoint::CommitOutput>& todo, Outputs* outputs);
  void Perform(const std::vector<checkpoint::RestoreOutput>& todo, Outputs* outputs);
  void OnInventory(checkpoint::Inventory inventory, Outputs* outputs);
  void OnFetchEnded(const checkpoint::FetchEnded& ended, Outputs* outputs);

  checkpoint::RecordView record_;                  // that is durable
  std::optional<checkpoint::RecordView> writing_;  // and what is to be
  std::vector<checkpoint::AgentId> agents_;
  std::vector<checkpoint::AgentId> owners_;
  std::vector<checkpoint::Inventory> inventories_;
  std::unique_ptr<checkpoint::Commit> commit_;    // null: no view
  std::unique_ptr<checkpoint::Restore> restore_;  // null: not all inventories are there
  bool restored_ = false;                         // in this view
  uint64_t bytes_restored_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_CHECKPOINTS_H_
