#include "control_channel/channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <asio/buffer.hpp>
#include <asio/ssl/error.hpp>
#include <asio/write.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace phalanx::control {
namespace {

// A peer whose machine vanishes without a word is noticed after about five seconds.
void NoticeSilence(int fd) {
  const int on = 1;
  const int first_probe_s = 2;
  const int interval_s = 1;
  const int probes = 3;
  const unsigned int unacknowledged_ms = 5000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first_probe_s, sizeof(first_probe_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
}

std::string NameOf(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const asio::ip::tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "a peer that is gone";
  return absl::StrCat(endpoint.address().to_string(), ":", endpoint.port());
}

absl::Status HandshakeFailure(const asio::error_code& error) {
  // Errors of TLS itself, an alert of the peer's included: it is there and doesn't accept us, or we
  // don't accept it. Everything else is the connection.
  if (error.category() == asio::error::get_ssl_category()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the handshake failed: wrong key, another job, or no Phalanx peer (",
                     error.message(), ")"));
  }
  return absl::UnavailableError(
      absl::StrCat("the connection broke during the handshake: ", error.message()));
}

bool IsEnd(const asio::error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

}  // namespace

Channel::Channel(asio::ip::tcp::socket socket, TlsContext* tls)
    : stream_(std::move(socket), tls->context()),
      side_(tls->side()),
      timer_(stream_.get_executor()) {
  NoticeSilence(stream_.lowest_layer().native_handle());
  peer_ = NameOf(stream_.next_layer());
  asio::error_code error;
  const asio::ip::tcp::endpoint own = stream_.next_layer().local_endpoint(error);
  if (!error) own_address_ = own.address().to_string();
}

void Channel::Start(Handlers handlers, Clock::duration handshake_timeout, size_t limit_bytes) {
  handlers_ = std::move(handlers);
  reader_.set_limit(limit_bytes);
  StartTimer(handshake_timeout, "no handshake in time");
  stream_.async_handshake(side_ == TlsContext::Side::kClient ? asio::ssl::stream_base::client
                                                             : asio::ssl::stream_base::server,
                          [self = shared_from_this()](const asio::error_code& error) {
                            if (!self->closed_) self->OnHandshake(error);
                          });
}

void Channel::StartTimer(Clock::duration timeout, const char* what) {
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this(), what](const asio::error_code& error) {
    // The handshake may have ended at the same moment.
    const bool needed = !self->open_ || self->finishing_;
    if (!error && !self->closed_ && needed) self->Close(absl::DeadlineExceededError(what));
  });
}

void Channel::OnHandshake(const asio::error_code& error) {
  timer_.cancel();
  if (error) {
    Close(HandshakeFailure(error));
    return;
  }
  // Only the job's key may have authenticated the peer.
  if (SSL_session_reused(stream_.native_handle()) != 1) {
    Close(absl::PermissionDeniedError("the peer did not use the job's key"));
    return;
  }
  open_ = true;
  Read();
  Write();
  if (handlers_.opened) handlers_.opened();
  if (!closed_) FinishIfDrained();
}

void Channel::Read() {
  stream_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](const asio::error_code& error, size_t bytes) {
                            if (!self->closed_) self->OnRead(error, bytes);
                          });
}

void Channel::OnRead(const asio::error_code& error, size_t bytes) {
  if (error) {
    Close(IsEnd(error)
              ? absl::OkStatus()
              : absl::UnavailableError(absl::StrCat("the connection broke: ", error.message())));
    return;
  }
  reader_.Append(absl::string_view(buffer_.data(), bytes));
  while (!closed_) {
    absl::StatusOr<std::optional<std::string>> frame = reader_.Next();
    if (!frame.ok()) {
      Close(frame.status());
      return;
    }
    if (!frame->has_value()) break;
    absl::StatusOr<Message> message = Decode(**frame);
    if (!message.ok()) {
      Close(message.status());
      return;
    }
    handlers_.message(*std::move(message));
  }
  if (!closed_) Read();
}

void Channel::Send(const Message& message) {
  if (closed_ || finishing_) return;
  outgoing_.push_back(Frame(Encode(message)));
  queued_bytes_ += outgoing_.back().size();
  Write();
}

void Channel::Write() {
  if (!open_ || writing_ || closed_ || outgoing_.empty()) return;
  writing_ = true;
  asio::async_write(stream_, asio::buffer(outgoing_.front()),
                    [self = shared_from_this()](const asio::error_code& error, size_t /*bytes*/) {
                      self->writing_ = false;
                      if (self->closed_) return;
                      if (error) {
                        self->Close(absl::UnavailableError(
                            absl::StrCat("the connection broke: ", error.message())));
                        return;
                      }
                      self->queued_bytes_ -= self->outgoing_.front().size();
                      self->outgoing_.pop_front();
                      self->Write();
                      self->FinishIfDrained();
                    });
}

void Channel::Finish(Clock::duration timeout) {
  if (closed_ || finishing_) return;
  finishing_ = true;
  StartTimer(timeout, "the peer did not end its connection in time");
  FinishIfDrained();
}

void Channel::FinishIfDrained() {
  if (!finishing_ || !open_ || writing_ || !outgoing_.empty()) return;
  // Only our half: closing with unread bytes would reset the connection and could take from the
  // peer what we sent last. Its end makes OnRead() close.
  asio::error_code ignored;
  stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Channel::Close(const absl::Status& status) {
  if (closed_) return;
  closed_ = true;
  open_ = false;
  timer_.cancel();
  asio::error_code ignored;
  stream_.next_layer().close(ignored);
  // The handlers may own what owns us.
  Handlers handlers = std::exchange(handlers_, Handlers{});
  if (handlers.closed) handlers.closed(status);
}

}  // namespace phalanx::control
