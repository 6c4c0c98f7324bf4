#include "control_process/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

absl::Status CannotListen(const Endpoint& endpoint, int error) {
  const std::string where = ToString(endpoint);
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen on ", where,
                     ": the address is in use; choose another port, or end the job that has it"));
  }
  if (error == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", where, ": it is not an address of this machine"));
  }
  return absl::UnavailableError(absl::StrCat("cannot listen on ", where, ": ", strerror(error)));
}

uint16_t PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

absl::StatusOr<Listener> Listen(const Endpoint& endpoint) { return Listen(endpoint, Fd()); }

absl::StatusOr<Listener> Listen(const Endpoint& endpoint, Fd socket) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure =
      ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (failure != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", ToString(endpoint), ": ", ::gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> owned(found);

  Listener listener;
  listener.fd = std::move(socket);
  if (!listener.fd.valid()) {
    listener.fd = Fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  if (!listener.fd.valid()) return CannotListen(endpoint, errno);
  // The last job's connections in TIME_WAIT don't keep the port from the next one.
  const int on = 1;
  ::setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(listener.fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(listener.fd.get(), SOMAXCONN) != 0) {
    return CannotListen(endpoint, errno);
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return CannotListen(endpoint, errno);
  }
  listener.endpoint = Endpoint{endpoint.host, PortOf(bound)};
  return listener;
}

}  // namespace phalanx::control
