// Our own standard output or standard error, written to without ever blocking the loop.
#ifndef PHALANX_CONTROL_SUPERVISOR_OUTPUT_SINK_H_
#define PHALANX_CONTROL_SUPERVISOR_OUTPUT_SINK_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

// Takes bytes in order and writes them as the other end accepts them. Descriptors that we inherited
// are shared with strangers, so they are never switched to non-blocking: pipes and terminals are
// opened a second time, sockets are sent to with MSG_DONTWAIT, files are written directly.
// Used from the loop's thread only. `fd` is borrowed and must stay open.
class OutputSink : public std::enable_shared_from_this<OutputSink> {
 public:
  static constexpr size_t kFullBytes = size_t{1} << 20;

  static std::shared_ptr<OutputSink> Create(asio::io_context& loop, int fd);
  // One sink for both if they are the same file, so that lines can't cut into each other.
  struct Pair {
    std::shared_ptr<OutputSink> output;
    std::shared_ptr<OutputSink> error;
  };
  static Pair CreatePair(asio::io_context& loop, int output_fd, int error_fd);

  // Takes all of `bytes`, even when full: callers ask full() first and stop reading, which is how
  // back-pressure reaches the workers.
  void Write(std::string_view bytes);

  bool full() const { return pending_bytes() >= kFullBytes; }
  bool empty() const { return pending_bytes() == 0; }
  // Nobody takes our output any more (EPIPE), or it can't be written (disk full): everything is
  // dropped from now on, and whoever writes to us should be told by closing its pipe.
  bool broken() const { return broken_; }

  // Calls `callback` once, from the loop: when no longer full / when empty (or broken).
  void WhenWritable(std::function<void()> callback);
  void WhenEmpty(std::function<void()> callback);
  // Drops what is pending and all callbacks: the loop can end.
  void Abandon();

 private:
  enum class Kind { kDirect, kDescription, kSocket, kSmallWrites };

  OutputSink(asio::io_context& loop, int fd);
  size_t pending_bytes() const { return pending_.size() - written_; }
  void Open(int fd);
  bool WatchWritable();
  void Pump();
  long WriteSome(const char* data, size_t size);
  void Await();
  void Break();
  void RunCallbacks();

  asio::io_context& loop_;
  Kind kind_ = Kind::kDirect;
  int fd_;
  Fd own_;                                 // the same file, opened by us (kDescription)
  asio::posix::stream_descriptor waiter_;  // readable when the other end accepts more
  std::string pending_;
  size_t written_ = 0;  // bytes of pending_ that are out already
  bool awaiting_ = false;
  bool broken_ = false;
  std::vector<std::function<void()>> when_writable_;
  std::vector<std::function<void()>> when_empty_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_OUTPUT_SINK_H_
