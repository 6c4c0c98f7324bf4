// Everything that a session owns, in the order in which it may be taken down.
#ifndef PHALANX_API_SESSION_STATE_H_
#define PHALANX_API_SESSION_STATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/logger.h"
#include "control_client/client.h"
#include "device/device.h"
#include "engine/engine.h"
#include "find_agent.h"
#include "fuser.h"
#include "launch/ordered_gate.h"
#include "phalanx/options.h"
#include "transports.h"

namespace phalanx::api {

class SessionState final : public control::ClientEvents {
 public:
  // Connects, joins and makes the engine. The world's channel is opened by the caller.
  static absl::StatusOr<std::shared_ptr<SessionState>> Join(const Options& options);
  ~SessionState() override;

  const Options& options() const { return options_; }
  const Logger& logger() const { return logger_; }
  const control::ViewDescription& view() const { return view_; }
  int rank() const { return rank_; }
  // The ranks of this node, in order.
  const std::vector<int>& node_ranks() const { return node_ranks_; }
  engine::Engine& engine() { return *engine_; }
  device::Device& device() { return *device_; }
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
    return client_->ReserveCommunicators(count, Deadline::After(options_.operation_timeout));
  }

  // Operations that wait to travel with others.
  FusedCount& fused() { return fused_; }

  // See Session::Synchronize.
  absl::Status Synchronize(Deadline deadline);
  absl::Status Close(std::chrono::milliseconds timeout);
  // Ends what is still in flight as aborted, then closes.
  void Shutdown();

  // control::ClientEvents
  void OnRevoked(const absl::Status& reason) override;
  void OnOrdering(absl::string_view payload) override;
  void OnAgentLost() override;

 private:
  SessionState(Options options, Logger logger);
  absl::Status Connect(Deadline deadline);
  absl::Status BuildEngine();
  void MakeGate();
  bool Oversubscribed(const std::vector<int>& ranks) const;

  const Options options_;
  const Logger logger_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Transports> transports_;
  FoundAgent agent_;
  std::unique_ptr<control::Client> client_;
  control::ViewDescription view_;
  int rank_ = -1;
  std::vector<int> node_ranks_;
  std::unique_ptr<engine::LaunchGate> gate_;
  launch::OrderedGate* ordered_gate_ = nullptr;  // gate_, if it is one
  std::unique_ptr<engine::Engine> engine_;
  FusedCount fused_;
  std::atomic<bool> open_{false};
};

}  // namespace phalanx::api

#endif  // PHALANX_API_SESSION_STATE_H_
