// Sleeping on a word of shared memory. The word may be mapped read-only: the kernel names it by
// file and offset, so a waiter and a waker meet through different mappings.
#ifndef PHALANX_SHM_FUTEX_H_
#define PHALANX_SHM_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace phalanx::shm {

// No sleep is longer, so that a wake-up that was missed costs no more.
inline constexpr std::chrono::milliseconds kLongestSleep{1};

// Sleeps until the word is woken, doesn't hold `seen`, `timeout` (at most kLongestSleep) passes, or
// for no reason.
inline void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen,
                      std::chrono::nanoseconds timeout) {
  const auto left =
      std::clamp<std::chrono::nanoseconds>(timeout, std::chrono::nanoseconds(0), kLongestSleep);
  timespec at_most{};
  at_most.tv_nsec = static_cast<long>(left.count());
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &at_most, nullptr, 0);
}

inline void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_FUTEX_H_
