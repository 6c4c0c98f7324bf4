// One operation in flight, from issue to completion. What a Work refers to.
#ifndef PHALANX_ENGINE_OPERATION_H_
#define PHALANX_ENGINE_OPERATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "device/device.h"
#include "engine/request.h"

namespace phalanx::engine {

class Channel;
class Operation;
class OperationPool;
struct CachedPlan;

// What the launch gate knows an operation by.
struct LaunchMark {
  uint64_t id = 0;
  int64_t position = -1;
  uint32_t* lane = nullptr;  // the channel's memory of the lane's number, for the gate; from 0
};

using Callback = std::function<void(const absl::Status&)>;

// Who completes an operation, and does or hastens the work while a caller waits.
class OperationOwner {
 public:
  // Blocks until `operation`, of this owner, is done; returns its status, or DEADLINE_EXCEEDED
  // naming what it waits for. Any thread but one inside a callback (FAILED_PRECONDITION).
  virtual absl::Status Wait(Operation* operation, Deadline deadline) = 0;
  // Does what can be done now; true if `operation` is done.
  virtual bool Poll(Operation* operation) = 0;

 protected:
  ~OperationOwner() = default;
};

// Reference-counted and recycled. The fields behind friend belong to the holder of the channel's
// progress token until done().
class Operation {
 public:
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Only while !done(): they may be gone afterwards. The channel is for operations that it owns.
  OperationOwner& owner() const { return *owner_; }
  Channel& channel() const { return *channel_; }
  const Request& request() const { return request_; }
  // "all_reduce #12 (sum of 1024 float) on communicator 0", `all_reduce key "loss" #3 (…) …`. Only
  // while the channel lives.
  std::string ToText() const;

  bool done() const { return done_.load(std::memory_order_acquire); }
  // Valid once done().
  const absl::Status& status() const { return status_; }

  // Set when it is done, for a stream to wait for; null without a stream. While a reference is
  // held.
  const std::shared_ptr<device::ManualEvent>& end_event() const { return stream_event_; }
  // The launch gate's, from Issued() to Ended().
  LaunchMark& mark() { return mark_; }
  // In place of Channel::Launch() while the gate is inside a call about this operation.
  void LaunchHere() { launched_.store(true, std::memory_order_release); }
  const LaunchMark& mark() const { return mark_; }

  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  // The last one gives the operation back to its pool.
  void Release();

  // See Work::Then. Any thread.
  void Then(Callback callback);

  // For owners that aren't channels: before anybody else sees it, and at its end, which drops the
  // owner's reference. `end`: what its stream waits for; null without one.
  void Begin(const Request& request, OperationOwner* owner, CommunicatorId communicator,
             uint64_t sequence, std::shared_ptr<device::ManualEvent> end);
  void End(absl::Status status);

 private:
  friend class Channel;
  friend class OperationList;
  friend class OperationPool;

  explicit Operation(OperationPool* pool) : pool_(pool) {}
  // Settles the operation; callbacks are the caller's next duty, with no token held.
  void Finish(absl::Status status);
  bool has_callbacks() const { return has_callbacks_.load(std::memory_order_seq_cst); }
  void RunCallbacks();

  OperationPool* const pool_;
  std::atomic<int> references_{0};
  std::atomic<bool> done_{false};
  std::atomic<bool> has_callbacks_{false};
  std::atomic<bool> stream_reached_{true};
  bool started_ = false;
  LaunchMark mark_;
  std::atomic<bool> launched_{true};  // by the gate, if there is one
  bool reached_told_ = false;         // to the gate
  std::atomic<bool> refused_{false};
  absl::Status refusal_;  // read once refused_ is set
  absl::Status status_;
  Request request_;
  OperationOwner* owner_ = nullptr;
  Channel* channel_ = nullptr;
  uint16_t communicator_ = 0;
  uint64_t sequence_ = 0;       // on the communicator, its key or, for messages, directed pair
  CachedPlan* plan_ = nullptr;  // while started_
  size_t runner_ = 0;           // index of its runner in plan_
  std::shared_ptr<device::ManualEvent>
      stream_event_;           // what the stream waits for; null without one
  Operation* next_ = nullptr;  // in the one list that it is in

  std::mutex callbacks_mutex_;
  std::vector<Callback> callbacks_;
};

// Operations are made once and used again, so that issuing one allocates nothing. The pool outlives
// its channel until the last handle is dropped.
class OperationPool {
 public:
  static OperationPool* Create() { return new OperationPool; }

  // A blank operation with `references` references. Any thread.
  Operation* Take(int references);
  // Operations that somebody still refers to. Any thread.
  int live();
  // The owner has no more use for it: it ends with its last operation.
  void Orphan();

 private:
  friend class Operation;

  OperationPool() = default;
  ~OperationPool();
  void Give(Operation* operation);

  SpinLock lock_;
  bool orphaned_ = false;
  int live_ = 0;
  Operation* free_ = nullptr;
};

// Whether this thread is inside a completion callback, where waiting would stall what completes it.
bool InsideCallback();

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_OPERATION_H_
