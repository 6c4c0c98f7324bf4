// One authenticated connection between two processes of the control plane, carrying messages.
#ifndef PHALANX_CONTROL_CHANNEL_CHANNEL_H_
#define PHALANX_CONTROL_CHANNEL_CHANNEL_H_

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "control_channel/tls.h"
#include "control_protocol/frame.h"
#include "control_protocol/message.h"

namespace phalanx::control {

// All calls and handlers on the thread that runs the socket's io_context. Made by std::make_shared;
// lives on while operations are under way, and calls no handler after `closed`.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  struct Handlers {
    std::function<void()> opened;  // the peer has proved that it has the key
    std::function<void(Message)> message;
    // The last call. OK: the peer ended orderly.
    //   PERMISSION_DENIED  the handshake failed: wrong key, another job, or not one of ours
    //   INVALID_ARGUMENT   the peer sent what is no message
    //   UNAVAILABLE        the connection broke
    //   DEADLINE_EXCEEDED  no handshake in time
    std::function<void(const absl::Status&)> closed;
  };

  // `tls` outlives the channel.
  Channel(asio::ip::tcp::socket socket, TlsContext* tls);

  // Handshakes, then reads messages of at most `limit_bytes`.
  void Start(Handlers handlers, Clock::duration handshake_timeout, size_t limit_bytes);
  void set_limit(size_t limit_bytes) { reader_.set_limit(limit_bytes); }

  // Queued until the channel is open. Nothing after Finish(), Close() or `closed`.
  void Send(const Message& message);
  // Sends what is queued, then ends the connection orderly: waits for the peer's end, for at most
  // `timeout`. `closed` comes when it is done.
  void Finish(Clock::duration timeout);
  // Ends at once; `closed` is called with `status` before it returns.
  void Close(const absl::Status& status);

  bool open() const { return open_; }
  size_t queued_bytes() const { return queued_bytes_; }     // that the socket hasn't taken yet
  std::string own_address() const { return own_address_; }  // "127.0.0.1"; empty if it is gone
  std::string peer() const { return peer_; }                // "127.0.0.1:4711", for log lines

 private:
  void OnHandshake(const asio::error_code& error);
  void StartTimer(Clock::duration timeout, const char* what);
  void Read();
  void OnRead(const asio::error_code& error, size_t bytes);
  void Write();
  void FinishIfDrained();

  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  const TlsContext::Side side_;
  asio::steady_timer timer_;
  Handlers handlers_;
  FrameReader reader_{0};
  std::array<char, 16384> buffer_{};
  std::deque<std::string> outgoing_;
  size_t queued_bytes_ = 0;
  std::string peer_;
  std::string own_address_;
  bool open_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  bool closed_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CHANNEL_CHANNEL_H_
