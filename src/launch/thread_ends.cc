#include "thread_ends.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace phalanx::launch {

// A thread's own memory of who wants to know of its end.
class ThreadEnds::Watched {
 public:
  ~Watched() {
    for (const auto& [weak, thread] : watches_) {
      const std::shared_ptr<Listener> listener = weak.lock();
      if (listener == nullptr) continue;
      const std::lock_guard lock(listener->mutex);
      if (listener->ended) listener->ended(thread);
    }
  }

  void Add(const std::shared_ptr<Listener>& listener, uint32_t thread) {
    watches_.erase(std::remove_if(watches_.begin(), watches_.end(),
                                  [](const auto& watch) { return watch.first.expired(); }),
                   watches_.end());
    watches_.emplace_back(listener, thread);
  }

 private:
  std::vector<std::pair<std::weak_ptr<Listener>, uint32_t>> watches_;
};

ThreadEnds::ThreadEnds(std::function<void(uint32_t thread)> ended)
    : listener_(std::make_shared<Listener>()) {
  listener_->ended = std::move(ended);
}

ThreadEnds::~ThreadEnds() {
  const std::lock_guard lock(listener_->mutex);
  listener_->ended = nullptr;
}

void ThreadEnds::Watch(uint32_t thread) {
  static thread_local Watched watched;
  watched.Add(listener_, thread);
}

}  // namespace phalanx::launch
