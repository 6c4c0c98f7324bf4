#include "host_event.h"

#include <utility>

namespace phalanx::device {

bool HostEvent::Happened() const {
  std::lock_guard lock(mutex_);
  return state_ == State::kHappened;
}

absl::Status HostEvent::Wait(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  const auto decided = [this] { return state_ != State::kPending; };
  if (deadline.at() == Clock::time_point::max()) {
    changed_.wait(lock, decided);
  } else {
    changed_.wait_until(lock, deadline.at(), decided);
  }
  switch (state_) {
    case State::kHappened:
      return absl::OkStatus();
    case State::kAbandoned:
      return absl::CancelledError(
          "the event can't happen any more: its stream was destroyed before reaching it");
    case State::kPending:
      break;
  }
  return absl::DeadlineExceededError(
      "the event hasn't happened yet; its stream or its setter is behind: wait again or longer");
}

void HostEvent::Set() {
  std::vector<std::weak_ptr<Watcher>> watchers;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kPending) return;
    state_ = State::kHappened;
    watchers = std::exchange(watchers_, {});
    changed_.notify_all();
  }
  for (const std::weak_ptr<Watcher>& weak : watchers) {
    if (const std::shared_ptr<Watcher> watcher = weak.lock()) watcher->EventHappened();
  }
}

void HostEvent::Abandon() {
  std::lock_guard lock(mutex_);
  if (state_ != State::kPending) return;
  state_ = State::kAbandoned;
  watchers_.clear();
  changed_.notify_all();
}

bool HostEvent::Watch(std::weak_ptr<Watcher> watcher) const {
  std::lock_guard lock(mutex_);
  if (state_ == State::kHappened) return false;
  if (state_ == State::kPending) watchers_.push_back(std::move(watcher));
  return true;
}

}  // namespace phalanx::device
