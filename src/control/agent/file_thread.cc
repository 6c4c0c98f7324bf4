#include "file_thread.h"

#include <asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace phalanx::control {

// Shared with the thread, which may outlive the object.
struct FileThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  asio::io_context* context = nullptr;  // null: nobody waits any more
  std::deque<std::function<Result()>> work;
  bool ended = false;

  void Run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return context == nullptr || !work.empty(); });
      if (context == nullptr) break;
      const std::function<Result()> next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      Result result = next();
      lock.lock();
      if (context != nullptr) asio::post(*context, std::move(result));
    }
    ended = true;
    changed.notify_all();
  }
};

FileThread::FileThread(asio::io_context& context) : state_(std::make_shared<State>()) {
  state_->context = &context;
  thread_ = std::thread([state = state_] { state->Run(); });
}

FileThread::~FileThread() {
  constexpr auto kLongest = std::chrono::seconds(2);
  std::unique_lock lock(state_->mutex);
  state_->context = nullptr;
  state_->work.clear();
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, kLongest, [this] { return state_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void FileThread::Post(std::function<Result()> work) {
  const std::lock_guard lock(state_->mutex);
  state_->work.push_back(std::move(work));
  state_->changed.notify_all();
}

}  // namespace phalanx::control
