// What a session runs on: its wires, the links to its peers, its communicators' channels, and one
// thread that moves what nobody waits for.
#ifndef PHALANX_ENGINE_ENGINE_H_
#define PHALANX_ENGINE_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "engine/channel.h"
#include "engine/launch_gate.h"
#include "spi/link.h"

namespace phalanx::engine {

// How a peer is reached.
struct Route {
  spi::Wire* wire = nullptr;  // null: it can't be
  spi::PeerIdentity peer;
  std::string address;
};

struct EngineConfig {
  std::vector<Route> routes;      // by rank in the view
  std::vector<spi::Wire*> wires;  // all that routes name; each outlives the engine
  device::Device* device = nullptr;
  LaunchGate* gate = nullptr;   // null: operations start when their streams reach them
  bool oversubscribed = false;  // more ranks than cores on this node: don't spin
};

class StreamUnits;

class Engine {
 public:
  explicit Engine(EngineConfig config);
  // Channels must be closed and their operations done; Abort() and Drain() see to that.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::shared_ptr<Channel> OpenChannel(ChannelConfig config);
  // The communicator has no more use for it; it ends when its last operation has.
  void CloseChannel(const std::shared_ptr<Channel>& channel);

  // Ends the view for this process: every operation in flight, and every later one, ends with
  // `status`, within about a second even when a peer is frozen. Any thread. Idempotent; the first
  // status stays.
  void Abort(const absl::Status& status);

  // Blocks until no operation is in flight on any channel. DEADLINE_EXCEEDED otherwise.
  absl::Status Drain(Deadline deadline);
  // Operations in flight on all channels.
  int64_t pending();

  // Why the view has ended; OK while it goes on.
  absl::Status abort_status();

  // For channels.
  absl::StatusOr<spi::Link*> LinkTo(int rank);
  absl::Span<spi::Wire* const> wires() const { return config_.wires; }
  device::Device& device() const { return *config_.device; }
  bool oversubscribed() const { return config_.oversubscribed; }
  LaunchGate* gate() const { return config_.gate; }
  StreamUnits& stream_units() { return *stream_units_; }
  // `urgent`: look at the channels now. Otherwise: see to it that they are looked at within a tick.
  void Notify(bool urgent);

 private:
  enum class Sleep : int { kAwake, kTicking, kParked };

  enum class Outcome {
    kMoved,    // something was done; there may be more
    kBlocked,  // operations that only this thread drives wait for their peers
    kIdle,     // nothing that needs this thread
  };

  enum class Occasion {
    kUrgent,  // somebody issued what it won't wait for at once
    kTick,    // a look around
  };

  void Loop();
  Outcome Turn(Occasion occasion);
  Occasion Rest(Outcome outcome, std::unique_lock<std::mutex>& lock);
  std::vector<std::shared_ptr<Channel>> Channels();
  void Reap();

  EngineConfig config_;
  const std::unique_ptr<StreamUnits> stream_units_;
  std::mutex links_mutex_;
  std::map<int, std::unique_ptr<spi::Link>> links_;

  std::mutex channels_mutex_;
  struct Entry {
    std::shared_ptr<Channel> channel;
    bool closing = false;
    uint64_t completed_at_last_tick = 0;
  };
  std::vector<Entry> channels_;
  std::condition_variable drained_;
  absl::Status abort_status_;  // under channels_mutex_

  std::mutex sleep_mutex_;
  std::condition_variable sleep_condition_;
  std::atomic<Sleep> sleep_{Sleep::kAwake};
  bool woken_ = false;     // under sleep_mutex_
  bool stopping_ = false;  // under sleep_mutex_
  int quiet_ticks_ = 0;    // the thread's own

  std::thread thread_;  // last: it uses everything above
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_ENGINE_H_
