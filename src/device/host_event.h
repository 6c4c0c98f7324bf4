// An event in host memory, which can also wake those that wait with a condition of their own.
#ifndef PHALANX_DEVICE_HOST_EVENT_H_
#define PHALANX_DEVICE_HOST_EVENT_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "device/device.h"

namespace phalanx::device {

class HostEvent : public ManualEvent {
 public:
  // Is told that the event has happened, on the thread that set it. May be told when it no longer
  // cares, and takes no lock that is held around a call of the event.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void EventHappened() = 0;
  };

  bool Happened() const override;
  absl::Status Wait(Deadline deadline) const override;
  void Set() override;

  // From now on it never happens, unless it has: Wait returns CANCELLED.
  void Abandon();
  // Returns false, and forgets the watcher, if the event has already happened.
  bool Watch(std::weak_ptr<Watcher> watcher) const;

 private:
  enum class State { kPending, kHappened, kAbandoned };

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::weak_ptr<Watcher>> watchers_;
  State state_ = State::kPending;
};

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_HOST_EVENT_H_
