#include "control_status/ask_coordinator.h"

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_channel/channel.h"
#include "control_channel/job_key.h"
#include "control_channel/tls.h"
#include "control_client/ask_agent.h"
#include "control_protocol/message.h"

namespace phalanx::control {
namespace {

// One question and its answer, on the thread that calls Run().
class Asker {
 public:
  Asker(std::unique_ptr<TlsContext> tls, Endpoint endpoint, std::chrono::milliseconds timeout)
      : tls_(std::move(tls)),
        endpoint_(std::move(endpoint)),
        timeout_(timeout),
        resolver_(context_),
        socket_(context_) {}

  absl::StatusOr<std::string> Run() {
    resolver_.async_resolve(
        endpoint_.host, std::to_string(endpoint_.port),
        [this](const asio::error_code& error, const asio::ip::tcp::resolver::results_type& found) {
          if (error) return Unreachable(error);
          asio::async_connect(
              socket_, found,
              [this](const asio::error_code& failed, const asio::ip::tcp::endpoint& /*where*/) {
                if (failed) return Unreachable(failed);
                Ask();
              });
        });
    context_.run_for(timeout_ + kAnswerMargin);
    return std::move(answer_);
  }

 private:
  void Ask() {
    channel_ = std::make_shared<Channel>(std::move(socket_), tls_.get());
    channel_->Start({.opened = {},
                     .message = [this](Message message) { OnMessage(std::move(message)); },
                     .closed = [this](const absl::Status& status) { OnClosed(status); }},
                    timeout_ + kAnswerMargin, kMaxControlMessageBytes);
    message::AskStatus ask;
    ask.question = 1;
    ask.timeout_ms = static_cast<uint32_t>(timeout_.count());
    channel_->Send(ask);
  }

  void OnMessage(Message message) {
    auto* status = std::get_if<message::JobStatus>(&message);
    if (status == nullptr) return;
    answer_ = std::move(status->json);
    context_.stop();
  }
  void OnClosed(const absl::Status& status) {
    if (answer_.ok()) return;
    answer_ = status.ok() ? absl::UnavailableError(absl::StrCat(
                                "the coordinator at ", ToString(endpoint_), " gave no answer"))
                          : absl::Status(status.code(),
                                         absl::StrCat("the coordinator at ", ToString(endpoint_),
                                                      ": ", status.message()));
    context_.stop();
  }
  void Unreachable(const asio::error_code& error) {
    answer_ = absl::UnavailableError(
        absl::StrCat("cannot reach a coordinator at ", ToString(endpoint_), ": ", error.message()));
    context_.stop();
  }

  const std::unique_ptr<TlsContext> tls_;
  const Endpoint endpoint_;
  const std::chrono::milliseconds timeout_;
  asio::io_context context_{1};
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  std::shared_ptr<Channel> channel_;
  absl::StatusOr<std::string> answer_ =
      absl::DeadlineExceededError("the job's coordinator is silent");
};

}  // namespace

absl::StatusOr<std::string> AskCoordinator(const std::string& job, const std::string& secret,
                                           const Endpoint& coordinator,
                                           std::chrono::milliseconds timeout) {
  PHX_ASSIGN_OR_RETURN(const JobKey key, DeriveKey(secret));
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<TlsContext> tls,
                       TlsContext::Make(TlsContext::Side::kClient, job, key));
  return Asker(std::move(tls), coordinator, timeout).Run();
}

}  // namespace phalanx::control
