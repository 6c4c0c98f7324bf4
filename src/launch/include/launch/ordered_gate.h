// Launches operations in the job's one order: the shell around a launch queue.
#ifndef PHALANX_LAUNCH_ORDERED_GATE_H_
#define PHALANX_LAUNCH_ORDERED_GATE_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "base/spin_lock.h"
#include "device/device.h"
#include "engine/launch_gate.h"
#include "engine/operation.h"
#include "ordering/launch_queue.h"

namespace phalanx::launch {

class ThreadEnds;

class OrderedGate final : public engine::LaunchGate {
 public:
  struct Options {
    ordering::QueueSettings queue;
    // What is launched while a thread waits for the whole device stays off it until that is over.
    bool device_wait_holds = false;
    Logger logger;
    // To the node's aggregator. Never blocks, and doesn't call the gate.
    std::function<void(const ordering::Report&)> send;
    // Waits for what comes from it, for so long at most, and calls OnOrder(). False at once when
    // another thread does. Null: the caller's threads aren't needed.
    std::function<bool(std::chrono::nanoseconds)> receive;
    // Ends the view: what waits in it can't go on. Doesn't call the gate.
    std::function<void(const absl::Status&)> abort;
  };

  explicit OrderedGate(Options options);
  ~OrderedGate() override;

  // From the node's aggregator, in the order in which it sent them. Any thread.
  void OnOrder(const ordering::Order& order);

  // No thread of this process will issue another operation: to the others it is absent from now on,
  // not late.
  void HostsEnd();

  // `send` and `receive` aren't called any more. Before what they use ends.
  void Disconnect();

  // engine::LaunchGate
  void Issued(engine::Operation* operation, bool reached) override;
  void Reached(engine::Operation* operation) override;
  void Ended(engine::Operation* operation) override;
  void HostComes(std::chrono::nanoseconds patience) override;
  void HostWaits(const engine::Operation& operation) override;
  void HostWaitsForDevice() override;
  void HostGoesOn() override;
  bool AwaitLaunch(std::chrono::nanoseconds patience) override;
  std::string Report() override;

 private:
  // What the queue needs to know of a lane each time; the signature's hash is kept, since most
  // lanes repeat.
  struct LaneState {
    uint32_t stream = 0;  // of operations without one: each lane is a sequence of its own
    ordering::Signature signature;
    uint64_t hash = 0;
  };

  void Step(const ordering::QueueInput& input);
  void Perform(const ordering::QueueOutput& output);
  void Send(const ordering::Report& report);
  void Launch(engine::Operation* operation);
  void OnFailed(const ordering::Failed& failed);
  void OnExplained(const ordering::Explained& explained);
  std::string TextOf(const ordering::Explanation& explanation) const;
  LaneState& StateOf(engine::Operation* operation, uint32_t* lane);
  uint32_t StreamOf(const engine::Operation& operation, const LaneState& lane);
  uint32_t ThisThread();
  void AwaitRoom(std::chrono::nanoseconds patience);
  engine::Operation* Find(uint64_t id);
  void Keep(engine::Operation* operation);
  void Forget(engine::Operation* operation);
  void ThreadEnded(uint32_t thread);
  void WakeTicker();
  void TickWhileNeeded();

  const Options options_;
  const uint64_t instance_;  // unique in this process
  SpinLock lock_;            // covers all that follows, up to the ticker's
  ordering::LaunchQueue queue_;
  std::vector<LaneState> lanes_;  // by the queue's number
  absl::flat_hash_map<const device::Stream*, uint32_t> streams_;
  uint32_t next_stream_ = 0;
  absl::flat_hash_map<uint64_t, std::string> key_names_;    // by hash
  absl::flat_hash_map<std::thread::id, uint32_t> threads_;  // that live
  uint32_t next_thread_ = 0;
  uint64_t last_id_ = 0;
  // Operations from Issued() to Ended(): by id modulo the size, those that collide in the map.
  static constexpr size_t kRecent = 1024;
  std::array<engine::Operation*, kRecent> recent_{};
  absl::flat_hash_map<uint64_t, engine::Operation*> others_;
  std::atomic<int64_t> live_{0};          // written under the lock
  engine::Operation* current_ = nullptr;  // of the call that we are in
  std::string report_;                    // the last explanation

  absl::flat_hash_set<uint32_t> device_waiters_;  // threads, where their waits hold the device
  std::vector<uint64_t> held_;                    // launched meanwhile

  bool connected_ = true;
  uint64_t certified_ = 0;  // operations launched by schedule
  uint64_t messages_ = 0;   // sent
  uint64_t terms_ = 0;      // begun: schedules, fences and new sequencers

  // Threads that are too far ahead park here.
  std::mutex room_mutex_;
  std::condition_variable room_;
  std::atomic<int> room_waiters_{0};

  std::mutex receiving_;     // held by a thread in options_.receive
  bool may_receive_ = true;  // under receiving_

  std::atomic<bool> ticker_sleeps_{false};
  std::atomic<bool> ticker_rests_{true};  // sleeps, or ticks slowly
  std::mutex ticker_mutex_;
  bool stopping_ = false;  // under ticker_mutex_
  bool awake_ = false;     // the same
  std::condition_variable wake_;
  std::thread ticker_;
  const std::unique_ptr<ThreadEnds> thread_ends_;  // ends first: it calls us
};

}  // namespace phalanx::launch

#endif  // PHALANX_LAUNCH_ORDERED_GATE_H_
