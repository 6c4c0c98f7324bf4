// Tells a gate that a thread which has used it ends.
#ifndef PHALANX_LAUNCH_THREAD_ENDS_H_
#define PHALANX_LAUNCH_THREAD_ENDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace phalanx::launch {

// Threads outlive gates and gates threads: whichever ends first, nothing of the other is touched.
class ThreadEnds {
 public:
  // `ended` is called on the thread that ends, as one of the last things that it does.
  explicit ThreadEnds(std::function<void(uint32_t thread)> ended);
  // Waits for calls that are under way; there are none after it.
  ~ThreadEnds();
  ThreadEnds(const ThreadEnds&) = delete;
  ThreadEnds& operator=(const ThreadEnds&) = delete;

  // The calling thread is known by this number.
  void Watch(uint32_t thread);

 private:
  struct Listener {
    std::mutex mutex;
    std::function<void(uint32_t thread)> ended;  // guarded by mutex; empty when nobody listens
  };
  class Watched;

  const std::shared_ptr<Listener> listener_;
};

}  // namespace phalanx::launch

#endif  // PHALANX_LAUNCH_THREAD_ENDS_H_
