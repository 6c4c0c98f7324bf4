// A thread that does what its owner needn't wait for.
#ifndef PHALANX_API_HELPER_THREAD_H_
#define PHALANX_API_HELPER_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace phalanx::api {

// Performs tasks one after the other, in the order in which they were added. The thread is made
// with the first. For one owner's thread.
class HelperThread {
 public:
  HelperThread() = default;
  ~HelperThread();  // after all tasks
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  void Add(std::function<void()> task);
  // Until all are done.
  void AwaitAll();

 private:
  void Perform();

  std::thread thread_;
  std::mutex mutex_;  // covers what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // the first is under way
  bool ends_ = false;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_HELPER_THREAD_H_
