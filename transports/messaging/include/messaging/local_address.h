// Which of this machine's addresses a wire binds to.
#ifndef PHALANX_MESSAGING_LOCAL_ADDRESS_H_
#define PHALANX_MESSAGING_LOCAL_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"

namespace phalanx::messaging {

struct LocalAddress {
  std::string interface;
  sockaddr_storage address;  // IPv4 or IPv6, port 0
};

// `wanted` is an IP address of this machine or the name of an interface that has one (IPv4 before
// IPv6); empty means loopback. INVALID_ARGUMENT when there is no such interface that is up,
// UNIMPLEMENTED when there is no loopback.
absl::StatusOr<LocalAddress> FindLocalAddress(const std::string& wanted);

// The used length of an IPv4 or IPv6 address; 0 for any other.
socklen_t AddressLength(const sockaddr_storage& address);

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_LOCAL_ADDRESS_H_
