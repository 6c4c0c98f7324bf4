#include "coordinator_link.h"

#include <asio/connect.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_protocol/frame.h"

namespace phalanx::control {
namespace {

constexpr Clock::duration kRetryInterval = std::chrono::milliseconds(50);
constexpr Clock::duration kHandshakeTimeout = std::chrono::seconds(5);

}  // namespace

void CoordinatorLink::Start(message::AgentHello hello, Deadline deadline, Handlers handlers) {
  hello_ = std::move(hello);
  deadline_ = deadline;
  handlers_ = std::move(handlers);
  Resolve();
}

void CoordinatorLink::Resolve() {
  resolver_.async_resolve(
      endpoint_.host, std::to_string(endpoint_.port),
      [this](const asio::error_code& error, const asio::ip::tcp::resolver::results_type& found) {
        if (lost_ || error == asio::error::operation_aborted) return;
        if (error) {
          TryLater(error.message());
        } else {
          Connect(found);
        }
      });
}

void CoordinatorLink::Connect(const asio::ip::tcp::resolver::results_type& addresses) {
  // A machine that doesn't answer at all holds a connection attempt for minutes.
  timer_.expires_at(std::min(deadline_.at(), Clock::now() + kHandshakeTimeout));
  timer_.async_wait([this](const asio::error_code& error) {
    asio::error_code ignored;
    if (!error && channel_ == nullptr) socket_.close(ignored);
  });
  asio::async_connect(
      socket_, addresses, [this](const asio::error_code& error, const asio::ip::tcp::endpoint&) {
        if (lost_) return;
        timer_.cancel();
        if (error == asio::error::connection_refused && interrupted_) {
          Lose(absl::UnavailableError(
              absl::StrCat("no other coordinator came to ", ToString(endpoint_))));
        } else if (error) {
          TryLater(error == asio::error::operation_aborted ? "no answer" : error.message());
        } else {
          OnConnected();
        }
      });
}

void CoordinatorLink::TryLater(const std::string& why) {
  if (deadline_.Passed(Clock::now())) {
    Lose(absl::UnavailableError(
        absl::StrCat("cannot reach the coordinator at ", ToString(endpoint_), ": ", why)));
    return;
  }
  timer_.expires_after(kRetryInterval);
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error && !lost_) Resolve();
  });
}

void CoordinatorLink::OnConnected() {
  channel_ = std::make_shared<Channel>(std::move(socket_), tls_);
  channel_->Start({.opened = [this] { OnOpened(); },
                   .message = [this](Message message) { handlers_.message(std::move(message)); },
                   .closed = [this](const absl::Status& status) { OnClosed(status); }},
                  kHandshakeTimeout, kMaxControlMessageBytes);
}

void CoordinatorLink::OnOpened() {
  open_ = true;
  if (handlers_.opened) handlers_.opened(channel_->own_address(), &hello_);
  channel_->Send(hello_);
  for (const Message& message : std::exchange(queued_, {})) channel_->Send(message);
}

void CoordinatorLink::OnClosed(const absl::Status& status) {
  channel_.reset();
  if (lost_) return;
  if (absl::IsPermissionDenied(status)) {
    Lose(absl::PermissionDeniedError(absl::StrCat("the coordinator at ", ToString(endpoint_),
                                                  " does not accept us: ", status.message())));
  } else if (open_) {
    const absl::Status gone = absl::UnavailableError(
        absl::StrCat("the coordinator at ", ToString(endpoint_),
                     " is gone: ", status.ok() ? "it closed the connection" : status.message()));
    if (!AwaitSuccessor(gone)) Lose(gone);
  } else {
    // It may have too much to do at the beginning of a large job.
    TryLater(std::string(status.message()));
  }
}

bool CoordinatorLink::AwaitSuccessor(const absl::Status& status) {
  if (!successor_timeout_.has_value() || finishing_) return false;
  open_ = false;
  std::optional<message::AgentHello> hello = handlers_.interrupted(status);
  if (!hello.has_value()) return false;
  hello_ = *std::move(hello);
  deadline_ = Deadline::After(*successor_timeout_);
  interrupted_ = true;
  Resolve();
  return true;
}

void CoordinatorLink::Send(const Message& message) {
  if (lost_) return;
  if (open_) {
    channel_->Send(message);
  } else {
    queued_.push_back(message);
  }
}

void CoordinatorLink::Finish(Clock::duration timeout) {
  if (lost_) return;
  finishing_ = true;
  if (open_) {
    channel_->Finish(timeout);
    return;
  }
  const std::shared_ptr<Channel> channel = channel_;
  Lose(absl::UnavailableError("ended before the coordinator was reached"));
  if (channel != nullptr) channel->Close(absl::OkStatus());
}

void CoordinatorLink::Lose(const absl::Status& status) {
  if (lost_) return;
  lost_ = true;
  resolver_.cancel();
  timer_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
  if (handlers_.lost) handlers_.lost(status);
}

}  // namespace phalanx::control
