#include "http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace phalanx::testing_support {

namespace {

HttpAnswer Ask(const std::string& url, const std::string& method, const std::string& rest) {
  const std::string prefix = "http://127.0.0.1:";
  HttpAnswer answer;
  const size_t slash = url.find('/', prefix.size());
  if (url.rfind(prefix, 0) != 0 || slash == std::string::npos) return answer;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(url.c_str() + prefix.size())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{30, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const std::string request = method + " " + url.substr(slash) +
                              " HTTP/1.1\r\nHost: " + url.substr(7, slash - 7) +
                              "\r\nConnection: close\r\n" + rest;
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t got = 0; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  close(fd);
  const size_t end = text.find("\r\n\r\n");
  if (text.rfind("HTTP/1.1 ", 0) != 0 || end == std::string::npos) return answer;
  answer.status = std::atoi(text.c_str() + 9);
  answer.body = text.substr(end + 4);
  return answer;
}

}  // namespace

HttpAnswer HttpGet(const std::string& url) { return Ask(url, "GET", "\r\n"); }

HttpAnswer HttpPost(const std::string& url, const std::string& body) {
  return Ask(url, "POST", "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

}  // namespace phalanx::testing_support
