// Asks another agent whether it is there.
#ifndef PHALANX_CONTROL_AGENT_PEER_PROBE_H_
#define PHALANX_CONTROL_AGENT_PEER_PROBE_H_

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "base/deadline.h"
#include "control_channel/channel.h"
#include "control_protocol/endpoint.h"

namespace phalanx::control {

// On the thread that runs `context`. Made by std::make_shared; lives until it is done. One question
// over one connection.
class PeerProbe : public std::enable_shared_from_this<PeerProbe> {
 public:
  // `tls` (of a client) outlives it. `done` is called once, later.
  PeerProbe(asio::io_context& context, TlsContext* tls, std::function<void(bool answered)> done)
      : tls_(tls), done_(std::move(done)), resolver_(context), socket_(context), timer_(context) {}

  // Only time counts in which we run ourselves: whatever has come is looked at between two ticks.
  void Start(const Endpoint& peer, Clock::duration wait);

 private:
  void OnConnected();
  void Tick();
  void End(bool answered);

  TlsContext* const tls_;
  std::function<void(bool answered)> done_;  // empty: it was called
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<Channel> channel_;
  int ticks_left_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_PEER_PROBE_H_
