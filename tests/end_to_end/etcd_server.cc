#include "etcd_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "http_get.h"

namespace phalanx::testing_support {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSoon = std::chrono::seconds(60);

// etcd takes no port 0. Somebody else may take it before etcd does.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(fd);
  EXPECT_TRUE(bound);
  return ntohs(address.sin_port);
}

std::string Http(int port) { return "http://127.0.0.1:" + std::to_string(port); }

// False: it runs on for as long.
bool EndsWithin(pid_t pid, int milliseconds) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd wait{process, POLLIN, 0};
  const bool ends = process < 0 || poll(&wait, 1, milliseconds) != 0;
  if (process >= 0) close(process);
  return ends;
}

}  // namespace

std::string FindEtcd() {
  for (const char* const path : {"/usr/bin/etcd", "/usr/local/bin/etcd"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

EtcdServer::EtcdServer(std::string folder) : folder_(std::move(folder)) {
  constexpr int kTries = 5;
  for (int tried = 0; tried < kTries; ++tried) {
    port_ = FreePort();
    peer_port_ = FreePort();
    if (Start()) return;
  }
  ADD_FAILURE() << "etcd doesn't start; see " << folder_ << "/etcd.log";
}

int EtcdServer::Keys() const {
  // All keys from the first possible one on, in base64.
  const HttpAnswer answer = HttpPost(Http(port_) + "/v3/kv/range",
                                     R"({"key":"AA==","range_end":"AA==","count_only":true})");
  if (answer.status != 200) return -1;
  const std::string word = "\"count\":\"";
  const size_t at = answer.body.find(word);
  return at == std::string::npos ? 0 : std::atoi(answer.body.c_str() + at + word.size());
}

void EtcdServer::Kill() {
  process_->Signal(SIGKILL);
  process_->AwaitEnd();
}

void EtcdServer::StartAgain() { EXPECT_TRUE(Start()) << "see " << folder_ << "/etcd.log"; }

bool EtcdServer::Start() {
  const std::string client = Http(port_);
  const std::string peer = Http(peer_port_);
  process_ = std::make_unique<Subprocess>(std::vector<std::string>{
      FindEtcd(), "--name", "test", "--data-dir", folder_ + "/etcd", "--listen-client-urls", client,
      "--advertise-client-urls", client, "--listen-peer-urls", peer,
      "--initial-advertise-peer-urls", peer, "--initial-cluster", "test=" + peer, "--logger", "zap",
      "--log-outputs", folder_ + "/etcd.log"});
  const Clock::time_point deadline = Clock::now() + kSoon;
  while (Clock::now() < deadline) {
    if (HttpGet(client + "/health").body.find("true") != std::string::npos) return true;
    if (EndsWithin(process_->pid(), 20)) break;
  }
  return false;
}

}  // namespace phalanx::testing_support
