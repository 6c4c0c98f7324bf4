#include "control_status_page/status_page.h"

#include <sys/socket.h>

#include <array>
#include <asio/write.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control_status_page/http.h"
#include "control_status_page/metrics.h"
#include "page_html.h"

namespace phalanx::control {
namespace {

// How long an acceptor rests that has run out of descriptors or memory.
constexpr auto kAcceptAgain = std::chrono::milliseconds(500);
// What a peer may still say while it is shown out; it wouldn't read its answer if we hung up on it.
constexpr size_t kMostDrainedBytes = 65536;
constexpr auto kLeaving = std::chrono::seconds(1);

HttpAnswer Refusal(int status) {
  const std::string_view reason = HttpReason(status);
  HttpAnswer answer;
  answer.status = status;
  answer.body = absl::StrCat(status, " ", absl::string_view(reason.data(), reason.size()), "\n");
  if (status == 403) answer.body += "Ask for localhost or 127.0.0.1.\n";
  return answer;
}

HttpAnswer AnswerOf(StatusResource resource, const std::string& status) {
  HttpAnswer answer;
  switch (resource) {
    case StatusResource::kPage:
      answer.type = "text/html; charset=utf-8";
      answer.body = std::string(kPageHtml);
      return answer;
    case StatusResource::kJson:
      answer.type = "application/json";
      answer.body = absl::StrCat(status, "\n");
      return answer;
    case StatusResource::kMetrics:
      answer.type = kMetricsType;
      answer.body = MetricsOf(status);
      if (answer.body.empty()) answer = Refusal(503);
      return answer;
    case StatusResource::kHealth:
      answer.body = "ok\n";
      return answer;
  }
  return Refusal(404);
}

}  // namespace

// Reads a request, answers it and ends. Lives as long as something of it is under way.
class StatusPage::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(StatusPage& page, uint64_t id, asio::ip::tcp::socket socket)
      : page_(page), id_(id), socket_(std::move(socket)), deadline_(page.loop_) {}

  void Start() {
    EndAfter(page_.settings_.timeout);
    Read();
  }
  bool waits() const { return waits_; }
  bool answers() const { return answers_; }
  void EndAfter(Clock::duration time);
  // What it waits for.
  void Tell(const std::string& status);
  void End();

 private:
  void Read();
  void OnHead(const HttpHead& head);
  void Write(HttpAnswer answer);
  void Drain();

  StatusPage& page_;
  const uint64_t id_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer deadline_;
  std::array<char, 4096> buffer_{};
  std::string head_;
  std::string answer_;
  StatusResource resource_ = StatusResource::kPage;
  bool with_body_ = true;
  bool waits_ = false;
  bool answers_ = false;
  size_t drained_ = 0;
};

void StatusPage::Connection::EndAfter(Clock::duration time) {
  deadline_.expires_after(time);
  deadline_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->End();
  });
}

void StatusPage::Connection::End() {
  asio::error_code ignored;
  socket_.close(ignored);
  deadline_.cancel();
  page_.connections_.erase(id_);
}

void StatusPage::Connection::Read() {
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](const asio::error_code& error, size_t bytes) {
                            if (!self->socket_.is_open()) return;
                            if (error) return self->End();
                            self->head_.append(self->buffer_.data(), bytes);
                            const HttpHead head = ParseHttpHead(self->head_);
                            if (head.status == 0) return self->Read();
                            self->OnHead(head);
                          });
}

void StatusPage::Connection::OnHead(const HttpHead& head) {
  if (head.status != 200) return Write(Refusal(head.status));
  const HttpDecision decision = Decide(head.request);
  with_body_ = decision.body;
  if (decision.status != 200) return Write(Refusal(decision.status));
  resource_ = decision.resource;
  const bool is_status =
      resource_ == StatusResource::kJson || resource_ == StatusResource::kMetrics;
  if (!is_status) return Write(AnswerOf(resource_, ""));
  waits_ = true;
  page_.Wait(id_);
}

void StatusPage::Connection::Tell(const std::string& status) {
  waits_ = false;
  Write(AnswerOf(resource_, status));
}

void StatusPage::Connection::Write(HttpAnswer answer) {
  answers_ = true;
  answer.with_body = with_body_;
  answer_ = ToHttp(answer);
  asio::async_write(socket_, asio::buffer(answer_),
                    [self = shared_from_this()](const asio::error_code& error, size_t /*bytes*/) {
                      if (!self->socket_.is_open()) return;
                      if (error) return self->End();
                      asio::error_code ignored;
                      self->socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
                      self->EndAfter(kLeaving);
                      self->Drain();
                    });
}

void StatusPage::Connection::Drain() {
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](const asio::error_code& error, size_t bytes) {
                            if (!self->socket_.is_open()) return;
                            self->drained_ += bytes;
                            if (error || self->drained_ > kMostDrainedBytes) return self->End();
                            self->Drain();
                          });
}

StatusPage::StatusPage(asio::io_context& loop, std::function<void()> ask,
                       StatusPageSettings settings)
    : loop_(loop),
      ask_(std::move(ask)),
      settings_(settings),
      acceptor_(loop),
      accept_again_(loop) {}

StatusPage::~StatusPage() = default;

absl::Status StatusPage::Open(int listen_fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  asio::error_code error;
  if (::getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return absl::InvalidArgumentError("the status page's descriptor is no socket");
  }
  acceptor_.assign(address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                   listen_fd, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the status page's descriptor can't be used: ", error.message()));
  }
  Accept();
  return absl::OkStatus();
}

void StatusPage::Accept() {
  acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
    if (closed_) return;
    if (!error) {
      OnAccepted(std::move(socket));
      return Accept();
    }
    accept_again_.expires_after(kAcceptAgain);
    accept_again_.async_wait([this](const asio::error_code& stopped) {
      if (!stopped && !closed_) Accept();
    });
  });
}

void StatusPage::OnAccepted(asio::ip::tcp::socket socket) {
  if (connections_.size() >= settings_.most_connections) {
    const std::string answer = ToHttp(Refusal(503));
    asio::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer), ignored);
    return;
  }
  const uint64_t id = ++last_connection_;
  const auto connection = std::make_shared<Connection>(*this, id, std::move(socket));
  connections_.emplace(id, connection);
  connection->Start();
}

void StatusPage::Wait(uint64_t connection) {
  if (answered_ && Clock::now() < answered_at_ + settings_.fresh) {
    return connections_.at(connection)->Tell(status_);
  }
  if (std::exchange(asked_, true)) return;
  ask_();
}

void StatusPage::Answer(std::string status) {
  status_ = std::move(status);
  answered_ = true;
  answered_at_ = Clock::now();
  asked_ = false;
  const auto connections = connections_;
  for (const auto& [id, connection] : connections) {
    if (connection->waits()) connection->Tell(status_);
  }
}

void StatusPage::Close() {
  if (std::exchange(closed_, true)) return;
  asio::error_code ignored;
  acceptor_.close(ignored);
  accept_again_.cancel();
  const auto connections = connections_;
  for (const auto& [id, connection] : connections) {
    if (connection->answers()) {
      connection->EndAfter(kLeaving);
    } else {
      connection->End();
    }
  }
}

}  // namespace phalanx::control
