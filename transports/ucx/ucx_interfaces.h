// From what the user calls an address to what UCX and a listener want.
#ifndef PHALANX_TRANSPORTS_UCX_UCX_INTERFACES_H_
#define PHALANX_TRANSPORTS_UCX_UCX_INTERFACES_H_

#include <sys/socket.h>

#include <string>

#include "absl/status/statusor.h"

namespace phalanx::ucx {

struct Interfaces {
  std::string devices;         // for UCX_NET_DEVICES
  sockaddr_storage listen_on;  // port 0
};

// `bind_address` as in WireOptions; also UCX device names ("eth0,mlx5_0:1"), of which one is an IP
// interface. Empty means what UCX_NET_DEVICES says, else loopback.
absl::StatusOr<Interfaces> FindInterfaces(const std::string& bind_address);

}  // namespace phalanx::ucx

#endif  // PHALANX_TRANSPORTS_UCX_UCX_INTERFACES_H_
