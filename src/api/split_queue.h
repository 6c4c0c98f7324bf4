// The splits of one communicator, one after the other.
#ifndef PHALANX_API_SPLIT_QUEUE_H_
#define PHALANX_API_SPLIT_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace phalanx::api {

// Whoever splits takes a number when it is asked to, so that the n-th split is the same on all
// members whatever threads carry them out. Thread-safe.
class SplitQueue {
 public:
  uint64_t TakeNumber() {
    const std::lock_guard lock(mutex_);
    return next_++;
  }
  // Each split before has a deadline of its own.
  void AwaitTurn(uint64_t number) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return turn_ == number; });
  }
  void EndTurn() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    turned_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turned_;
  uint64_t next_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_SPLIT_QUEUE_H_
