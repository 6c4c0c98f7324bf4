// Sends small keyed all-reduces of a communicator together: the thread around a
// fusion::Negotiation.
#ifndef PHALANX_API_FUSER_H_
#define PHALANX_API_FUSER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "engine/channel.h"
#include "engine/engine.h"
#include "engine/operation.h"
#include "fusion/negotiation.h"

namespace phalanx::api {

// What the rounds and what they send go by; not for the caller's use.
inline constexpr char kFusionKey[] = "phalanx.fusion";

// How many operations of a session wait with fusers. Thread-safe.
class FusedCount {
 public:
  void Add(int64_t operations);
  int64_t value();
  // False if there are some left at the deadline.
  bool AwaitNone(Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int64_t value_ = 0;
};

// Thread-safe. Its rounds and what they send are keyed operations of the channel's, which outlives
// it, as do engine and count.
class Fuser final : public engine::OperationOwner, public std::enable_shared_from_this<Fuser> {
 public:
  struct Limits {
    uint64_t most_bytes = 0;       // of what travels together
    Clock::duration longest_wait;  // for others to come along
  };

  // `lane` is the channel's, of kFusionKey.
  Fuser(engine::Channel* channel, engine::KeyedLane* lane, engine::Engine* engine,
        FusedCount* count, const Limits& limits, Logger logger);
  ~Fuser();
  // Blocks until all that was issued has ended. Once, before the destruction.
  void Close();

  // An all-reduce with a key. The result carries one reference for the caller.
  engine::Operation* Issue(const engine::Request& request);

  // engine::OperationOwner
  absl::Status Wait(engine::Operation* operation, Deadline deadline) override;
  bool Poll(engine::Operation* operation) override { return operation->done(); }

 private:
  struct Item {
    engine::Operation* operation = nullptr;
    bool ready = false;  // its stream has reached it
    bool told = false;   // to the negotiation
  };
  // What travels as one.
  struct Load {
    std::vector<engine::Operation*> operations;
    std::vector<std::byte> packed;  // of several
    engine::Operation* sent = nullptr;
  };

  absl::Status QueueOnStream(engine::Operation* operation);
  void Reached(engine::Operation* operation);
  void Run();
  bool AwaitRound(std::unique_lock<std::mutex>& lock);
  absl::Status Round(std::unique_lock<std::mutex>& lock);
  absl::StatusOr<std::vector<std::string>> Exchange(const std::string& message);
  engine::Operation* Take(const std::string& key);
  absl::Status Perform(const std::vector<fusion::Batch>& batches,
                       std::unique_lock<std::mutex>& lock);
  void Send(Load* load);
  absl::Status Finish(Load* load);
  void Refuse(const fusion::Mismatch& mismatch, std::unique_lock<std::mutex>& lock);
  void FailAll(std::unique_lock<std::mutex>& lock);
  void End(engine::Operation* operation, const absl::Status& status);
  absl::Status Overdue(const engine::Operation& operation);

  engine::Channel* const channel_;
  engine::Engine* const engine_;
  FusedCount* const count_;
  const Limits limits_;
  const Logger logger_;
  engine::OperationPool* const pool_;
  engine::KeyedLane* const lane_;  // of the rounds and of what they send

  std::mutex mutex_;  // covers what follows
  std::condition_variable changed_;
  std::condition_variable ended_;  // some operation was
  fusion::Negotiation negotiation_;
  std::map<std::string, std::deque<Item>> items_;  // by key, in the order of issue
  std::map<std::string, uint64_t> issued_;         // by key
  int waiters_ = 0;
  Clock::time_point round_ended_;
  bool stopping_ = false;
  absl::Status failure_;  // nothing goes on
  uint64_t rounds_ = 0;
  uint64_t sent_ = 0;        // operations
  uint64_t reductions_ = 0;  // that they travelled in

  std::thread thread_;  // last: it uses everything above
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FUSER_H_
