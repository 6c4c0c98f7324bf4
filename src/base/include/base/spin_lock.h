// Mutual exclusion for a few dozen instructions, where an uncontended std::mutex would show.
#ifndef PHALANX_BASE_SPIN_LOCK_H_
#define PHALANX_BASE_SPIN_LOCK_H_

#include <atomic>
#include <thread>

namespace phalanx {

// Lockable, for std::lock_guard. Yields while another thread holds it, so a holder that was
// preempted costs the others their turn and no more. Not fair; not recursive.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace phalanx

#endif  // PHALANX_BASE_SPIN_LOCK_H_
