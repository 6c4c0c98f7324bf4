// The job's state for browsers and for programs that collect metrics: a small HTTP server in the
// coordinator's loop.
#ifndef PHALANX_CONTROL_STATUS_PAGE_STATUS_PAGE_H_
#define PHALANX_CONTROL_STATUS_PAGE_STATUS_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "asio/io_context.hpp"
#include "asio/ip/tcp.hpp"
#include "asio/steady_timer.hpp"
#include "base/deadline.h"

namespace phalanx::control {

struct StatusPageSettings {
  // More connections are turned away.
  size_t most_connections = 32;
  // From the first byte of a request to the last of its answer.
  Clock::duration timeout = std::chrono::seconds(10);
  // So long an answer is given again: whoever asks without pause costs the ranks no more.
  Clock::duration fresh = std::chrono::milliseconds(100);
};

// GET / (a page), /status.json, /metrics and /healthz; nothing can be changed here. For the loop's
// thread. Nothing that a peer does takes long, and no wait is without an end.
class StatusPage {
 public:
  // `ask`: is to find out how the job is and to say it with Answer(), once for each call, at once
  // or later.
  StatusPage(asio::io_context& loop, std::function<void()> ask, StatusPageSettings settings = {});
  // After Close(), and once the loop has stopped.
  ~StatusPage();
  StatusPage(const StatusPage&) = delete;
  StatusPage& operator=(const StatusPage&) = delete;

  // A listening TCP socket, which is owned from then on. INVALID_ARGUMENT: it isn't that.
  absl::Status Open(int listen_fd);
  // JSON.
  void Answer(std::string status);
  // Nobody is answered any more, but for those whose answer is on its way.
  void Close();

 private:
  class Connection;

  void Accept();
  void OnAccepted(asio::ip::tcp::socket socket);
  void Wait(uint64_t connection);

  asio::io_context& loop_;
  const std::function<void()> ask_;
  const StatusPageSettings settings_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer accept_again_;
  std::map<uint64_t, std::shared_ptr<Connection>> connections_;
  uint64_t last_connection_ = 0;
  std::string status_;  // the last answer
  Clock::time_point answered_at_;
  bool asked_ = false;
  bool answered_ = false;
  bool closed_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_PAGE_STATUS_PAGE_H_
