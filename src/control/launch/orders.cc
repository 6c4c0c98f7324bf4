#include "orders.h"

#include <csignal>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "asio/buffer.hpp"

namespace phalanx::control {

Orders::Orders(asio::io_context& loop, int fd, OrderHandlers handlers)
    : source_(loop, fd), handlers_(std::move(handlers)) {
  Read();
}

Orders::~Orders() { source_.release(); }

void Orders::Read() {
  source_.async_read_some(asio::buffer(bytes_),
                          [this](const asio::error_code& error, size_t count) {
                            if (error == asio::error::operation_aborted) return;
                            if (error) return handlers_.on_end();
                            text_.append(bytes_.data(), count);
                            HandleLines();
                            Read();
                          });
}

void Orders::HandleLines() {
  for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    if (line == kFailureElsewhere) handlers_.on_failure_elsewhere();
    if (line == kNodeLost) handlers_.on_node_lost();
    absl::string_view word = line;
    int signal = 0;
    const bool known = absl::ConsumePrefix(&word, "signal ") && absl::SimpleAtoi(word, &signal) &&
                       signal > 0 && signal < NSIG;
    if (known) handlers_.on_signal(signal);
  }
  // Whoever writes without ever ending a line isn't our launcher.
  constexpr size_t kLongestLine = 4096;
  if (text_.size() > kLongestLine) text_.clear();
}

}  // namespace phalanx::control
