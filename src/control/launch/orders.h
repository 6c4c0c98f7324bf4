// What a launcher tells an agent that it has started, over the agent's standard input.
#ifndef PHALANX_CONTROL_LAUNCH_ORDERS_H_
#define PHALANX_CONTROL_LAUNCH_ORDERS_H_

#include <array>
#include <functional>
#include <string>

#include "asio/io_context.hpp"
#include "asio/posix/stream_descriptor.hpp"

namespace phalanx::control {

// The line by which a launcher says that another node has failed.
inline constexpr char kFailureElsewhere[] = "failure elsewhere";

// And that one was lost whose ranks may be replaced.
inline constexpr char kNodeLost[] = "node lost";

struct OrderHandlers {
  std::function<void(int)> on_signal;          // `signal N`
  std::function<void()> on_failure_elsewhere;  // kFailureElsewhere
  std::function<void()> on_node_lost;          // kNodeLost
  std::function<void()> on_end;                // the launcher's end has closed
};

// Reads lines on the loop until the launcher's end closes; ignores those that it doesn't know.
// Destroy it once the loop has stopped.
class Orders {
 public:
  // `fd` is borrowed.
  Orders(asio::io_context& loop, int fd, OrderHandlers handlers);
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

 private:
  void Read();
  void HandleLines();

  asio::posix::stream_descriptor source_;
  const OrderHandlers handlers_;
  std::array<char, 256> bytes_;
  std::string text_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_ORDERS_H_
