#include "peer_probe.h"

#include <asio/connect.hpp>
#include <asio/post.hpp>
#include <string>
#include <utility>
#include <variant>

#include "control_protocol/frame.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kTick = std::chrono::milliseconds(50);
// The wait is shorter, unless we are slow.
constexpr Clock::duration kHandshake = std::chrono::hours(1);

}  // namespace

void PeerProbe::Start(const Endpoint& peer, Clock::duration wait) {
  ticks_left_ = static_cast<int>(wait / kTick) + 1;
  Tick();
  resolver_.async_resolve(
      peer.host, std::to_string(peer.port),
      [self = shared_from_this()](const asio::error_code& error,
                                  const asio::ip::tcp::resolver::results_type& found) {
        if (!self->done_) return;
        if (error) return self->End(false);
        asio::async_connect(
            self->socket_, found,
            [self](const asio::error_code& failure, const asio::ip::tcp::endpoint&) {
              if (!self->done_) return;
              if (failure) return self->End(false);
              self->OnConnected();
            });
      });
}

void PeerProbe::OnConnected() {
  channel_ = std::make_shared<Channel>(std::move(socket_), tls_);
  const auto end = [weak = weak_from_this()](bool answered) {
    if (const std::shared_ptr<PeerProbe> self = weak.lock(); self != nullptr) self->End(answered);
  };
  channel_->Start({.opened = {},
                   .message =
                       [end](const Message& message) {
                         end(std::holds_alternative<message::ProbeAnswer>(message));
                       },
                   .closed = [end](const absl::Status&) { end(false); }},
                  kHandshake, kMaxHandshakeMessageBytes);
  channel_->Send(message::Probe{});
}

void PeerProbe::Tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (error || !self->done_) return;
    if (--self->ticks_left_ <= 0) return self->End(false);
    self->Tick();
  });
}

void PeerProbe::End(bool answered) {
  if (!done_) return;
  const auto done = std::exchange(done_, nullptr);
  timer_.cancel();
  resolver_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
  // Not from within one of its handlers.
  if (const auto channel = std::exchange(channel_, nullptr); channel != nullptr) {
    asio::post(timer_.get_executor(), [channel] { channel->Close(absl::OkStatus()); });
  }
  done(answered);
}

}  // namespace phalanx::control
