// What a launcher tells an agent that it has started, over the agent's standard input.
#ifndef PHALANX_CONTROL_LAUNCH_ORDERS_H_
#define PHALANX_CONTROL_LAUNCH_ORDERS_H_

#include <array>
#include <functional>
#include <string>

#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"

namespace phalanx::control {

// Reads lines `signal N` on the loop until the launcher's end closes. Destroy it once the loop has
// stopped.
class Orders {
 public:
  // `fd` is borrowed.
  Orders(asio::io_context& loop, int fd, std::function<void(int)> on_signal,
         std::function<void()> on_end);
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

 private:
  void Read();
  void HandleLines();

  asio::posix::stream_descriptor source_;
  std::function<void(int)> on_signal_;
  std::function<void()> on_end_;
  std::array<char, 256> bytes_;
  std::string text_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_ORDERS_H_
