// Everything that a session owns for one view, in the order in which it may be taken down.
#ifndef PHALANX_API_SESSION_STATE_H_
#define PHALANX_API_SESSION_STATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/logger.h"
#include "control_client/client.h"
#include "device/device.h"
#include "engine/engine.h"
#include "fault_injector.h"
#include "fuser.h"
#include "launch/ordered_gate.h"
#include "participant.h"
#include "phalanx/options.h"
#include "transports.h"

namespace phalanx::api {

class SessionState final : public control::ClientEvents {
 public:
  // Connects, joins and makes the engine. The world's channel is opened by the caller. Of a spare
  // it makes no engine, and no view is there: AwaitPlace() does both, once.
  static absl::StatusOr<std::shared_ptr<SessionState>> Join(const Options& options);
  // CANCELLED: no view comes any more, since all ranks have finished.
  absl::Status AwaitPlace();
  // The same process without a place again, after the view of `last`, which is retired.
  static absl::StatusOr<std::shared_ptr<SessionState>> After(SessionState& last);
  ~SessionState() override;

  const Options& options() const { return participant_->options; }
  const Logger& logger() const { return participant_->logger; }
  control::Client& client() { return *participant_->client; }
  FaultInjector& faults() { return faults_; }
  Saver& saver() { return *participant_->saver; }
  Stepper& stepper() { return *participant_->stepper; }
  bool has_place() const { return engine_ != nullptr; }
  bool had_place() const { return return_.has_value(); }
  const control::ViewDescription& view() const { return view_; }
  int rank() const { return rank_; }
  // The ranks of this node, in order.
  const std::vector<int>& node_ranks() const { return node_ranks_; }
  engine::Engine& engine() { return *engine_; }
  device::Device& device() { return *participant_->device; }
  spi::GroupDomain& domain() { return transports_->domain(); }
  bool open() const { return open_.load(std::memory_order_acquire); }

  // Whether a communicator of these ranks of the view uses shared memory: known to all its members.
  bool SharesMemory(const std::vector<int>& ranks) const;
  // `prepared` holds every member's GroupDomain::PrepareGroup() result where memory is shared.
  absl::StatusOr<std::shared_ptr<engine::Channel>> OpenChannel(
      CommunicatorId id, std::vector<int> ranks, const std::vector<std::string>& prepared);
  absl::StatusOr<std::shared_ptr<engine::Channel>> OpenWorld();

  // Numbers that no other communicator of the view has: the first of `count`.
  absl::StatusOr<CommunicatorId> ReserveCommunicators(int count) {
    return participant_->client->ReserveCommunicators(count,
                                                      Deadline::After(options().operation_timeout));
  }

  // Operations that wait to travel with others.
  FusedCount& fused() { return fused_; }

  // See Session::Synchronize.
  absl::Status Synchronize(Deadline deadline);
  absl::Status Close(std::chrono::milliseconds timeout);
  // The view is over and another one follows: nothing of this one is used any more. Its buffers
  // stay. False when operations don't let go of theirs.
  bool Retire();
  // Ends what is still in flight as aborted, then closes.
  void Shutdown();

  // control::ClientEvents
  void OnRevoked(const absl::Status& reason, bool goes_on) override;
  void OnOrdering(absl::string_view payload) override;
  void OnCheckpoint(absl::string_view payload, std::vector<control::Fd> fds) override;
  void OnNoneFollows() override;
  void OnAgentLost() override;

 private:
  explicit SessionState(std::shared_ptr<Participant> participant);
  static void MakeParts(Participant* participant);
  absl::StatusOr<control::JoinRequest> Prepare();
  absl::Status Connect(Deadline deadline);
  absl::Status Enter(control::ViewDescription view);
  absl::Status BuildEngine();
  absl::Status LeaveUnused(Deadline deadline);
  void MakeGate();
  bool Oversubscribed(const std::vector<int>& ranks) const;

  const std::shared_ptr<Participant> participant_;
  std::unique_ptr<Transports> transports_;
  std::optional<control::JoinRequest> return_;  // to the view after the last one
  control::ViewDescription view_;
  int rank_ = -1;
  std::vector<int> node_ranks_;
  std::unique_ptr<engine::LaunchGate> gate_;
  launch::OrderedGate* ordered_gate_ = nullptr;  // gate_, if it is one
  std::unique_ptr<engine::Engine> engine_;
  FusedCount fused_;
  FaultInjector faults_;
  std::atomic<bool> open_{false};
};

}  // namespace phalanx::api

#endif  // PHALANX_API_SESSION_STATE_H_
