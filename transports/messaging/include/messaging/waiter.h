// Blocks threads on a fabric's descriptor and on a wake-up of our own.
#ifndef PHALANX_MESSAGING_WAITER_H_
#define PHALANX_MESSAGING_WAITER_H_

#include <atomic>

#include "base/deadline.h"

namespace phalanx::messaging {

class Waiter {
 public:
  Waiter();
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Called before the fabric is armed, so that a Kick() after the arming isn't missed. Wait() or
  // Leave() ends it.
  void Enter() { waiting_.fetch_add(1); }
  void Leave();
  // Until `fd` is readable, a wake-up comes or `timeout` passes. Any number of threads.
  void Wait(int fd, Clock::duration timeout);

  // Makes all waiting threads return, or the next one that waits.
  void WakeUp();
  // Makes all waiting threads return, if there are any.
  void Kick() {
    if (waiting_.load() > 0) WakeUp();
  }

 private:
  int event_fd_ = -1;
  std::atomic<int> waiting_{0};
};

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_WAITER_H_
