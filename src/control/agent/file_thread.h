// A thread for calls of the file system, which may take any time.
#ifndef PHALANX_CONTROL_AGENT_FILE_THREAD_H_
#define PHALANX_CONTROL_AGENT_FILE_THREAD_H_

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <thread>

namespace phalanx::control {

class FileThread {
 public:
  // What is to follow on the context's thread.
  using Result = std::function<void()>;

  // `context` outlives this object.
  explicit FileThread(asio::io_context& context);
  // Waits a moment for the work that is under way. If it takes longer, the thread is left to it
  // alone, so that a file system that hangs holds nobody up. What it comes to is dropped, and so is
  // work that hasn't begun.
  ~FileThread();
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;

  // Runs `work` on the thread, one at a time in this order, and then its result on the context's.
  // `work` must own all that it uses.
  void Post(std::function<Result()> work);

 private:
  struct State;

  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_FILE_THREAD_H_
