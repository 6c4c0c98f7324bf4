#include "own_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control_process/fd.h"

namespace phalanx::control {
namespace {

absl::Status Unreachable(const std::string& host, const char* why) {
  return absl::UnavailableError(absl::StrCat("can't tell which address of ours '", host,
                                             "' reaches (", why, "); name it with --address"));
}

}  // namespace

absl::StatusOr<std::string> OwnAddressTowards(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string name =
      host.substr(host.find('@') == std::string::npos ? 0 : host.find('@') + 1);
  const int error = getaddrinfo(name.c_str(), "9", &hints, &found);
  if (error != 0) return Unreachable(host, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  const Fd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  char text[NI_MAXHOST];
  if (connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof(text), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return Unreachable(host, "no route");
  }
  return std::string(text);
}

}  // namespace phalanx::control
