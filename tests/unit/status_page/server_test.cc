// The page over real sockets: what its peers get, and that none of them holds it up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control_process/listen.h"
#include "control_status_page/status_page.h"

namespace phalanx::control {
namespace {

using asio::ip::tcp;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kStatus[] = R"({"job":"a job","epoch":7})";

class StatusPageTest : public ::testing::Test {
 protected:
  void Open(bool answers = true, StatusPageSettings settings = {}) {
    absl::StatusOr<Listener> listener = Listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener.ok()) << listener.status();
    port_ = listener->endpoint.port;
    page_ = std::make_unique<StatusPage>(
        loop_,
        [this, answers] {
          ++asked_;
          if (answers) page_->Answer(kStatus);
        },
        settings);
    const absl::Status opened = page_->Open(listener->fd.Release());
    ASSERT_TRUE(opened.ok()) << opened;
    thread_ = std::thread([this] { loop_.run(); });
  }
  // Ends only if the page waits for nobody.
  void TearDown() override {
    if (!thread_.joinable()) return;
    asio::post(loop_, [this] { page_->Close(); });
    thread_.join();
  }

  tcp::socket Connect() {
    tcp::socket socket(client_);
    socket.connect({asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port_)});
    return socket;
  }
  static std::string ReadAll(tcp::socket& socket) {
    std::string text;
    asio::error_code error;
    asio::read(socket, asio::dynamic_buffer(text), error);
    return text;
  }
  std::string Ask(const std::string& request) {
    tcp::socket socket = Connect();
    asio::error_code ignored;
    asio::write(socket, asio::buffer(request), ignored);
    return ReadAll(socket);
  }
  std::string Get(const std::string& path) {
    return Ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

  asio::io_context loop_;
  asio::io_context client_;
  std::unique_ptr<StatusPage> page_;
  std::thread thread_;
  int port_ = 0;
  std::atomic<int> asked_ = 0;
};

TEST_F(StatusPageTest, ShowsWhatItWasTold) {
  Open();
  EXPECT_THAT(Get("/status.json"), EndsWith("\r\n\r\n" + std::string(kStatus) + "\n"));
  EXPECT_THAT(Get("/metrics"), HasSubstr("\nphalanx_epoch 7\n"));
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok\n"));
  const std::string page = Get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html"));
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
}

TEST_F(StatusPageTest, RefusesTheRest) {
  Open();
  EXPECT_THAT(Get("/other"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Ask("garbage\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(std::string(20000, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(asked_, 0);
}

TEST_F(StatusPageTest, WhoeverAsksWithoutPauseAsksNobodyElse) {
  StatusPageSettings settings;
  settings.fresh = std::chrono::hours(1);
  Open(true, settings);
  for (int i = 0; i < 50; ++i) EXPECT_THAT(Get("/status.json"), HasSubstr(kStatus));
  EXPECT_EQ(asked_, 1);
}

TEST_F(StatusPageTest, AllWhoWaitAreAnsweredTogether) {
  StatusPageSettings settings;
  settings.fresh = {};
  Open(false, settings);
  std::vector<tcp::socket> sockets;
  for (int i = 0; i < 5; ++i) {
    sockets.push_back(Connect());
    asio::write(sockets.back(), asio::buffer(std::string("GET /status.json HTTP/1.0\r\n\r\n")));
  }
  Get("/healthz");  // the others' requests have come before
  asio::post(loop_, [this] { page_->Answer(kStatus); });
  int answered = 0;
  for (tcp::socket& socket : sockets) {
    if (ReadAll(socket).find(kStatus) != std::string::npos) ++answered;
  }
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(asked_, 1);
}

TEST_F(StatusPageTest, ThoseWhoSayNothingAreShownOutInTime) {
  StatusPageSettings settings;
  settings.timeout = std::chrono::milliseconds(20);
  Open(true, settings);
  tcp::socket silent = Connect();
  tcp::socket slow = Connect();
  asio::write(slow, asio::buffer(std::string("GET / HT")));
  EXPECT_EQ(ReadAll(silent), "");
  EXPECT_EQ(ReadAll(slow), "");
}

TEST_F(StatusPageTest, TooManyAreTurnedAwayAndTheOthersStay) {
  StatusPageSettings settings;
  settings.most_connections = 2;
  Open(true, settings);
  tcp::socket one = Connect();
  tcp::socket other = Connect();
  tcp::socket third = Connect();
  EXPECT_THAT(ReadAll(third), StartsWith("HTTP/1.1 503 "));
  for (tcp::socket* socket : {&one, &other}) {
    asio::write(*socket, asio::buffer(std::string("GET /healthz HTTP/1.0\r\n\r\n")));
    EXPECT_THAT(ReadAll(*socket), EndsWith("ok\n"));
  }
}

TEST_F(StatusPageTest, WhenItClosesNobodyWaits) {
  Open(false);
  tcp::socket waits = Connect();
  asio::write(waits, asio::buffer(std::string("GET /metrics HTTP/1.0\r\n\r\n")));
  tcp::socket silent = Connect();
  Get("/healthz");
  asio::post(loop_, [this] { page_->Close(); });
  EXPECT_EQ(ReadAll(waits), "");
  EXPECT_EQ(ReadAll(silent), "");
}

}  // namespace
}  // namespace phalanx::control
