// Listening TCP sockets.
#ifndef PHALANX_CONTROL_PROCESS_LISTEN_H_
#define PHALANX_CONTROL_PROCESS_LISTEN_H_

#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "control_protocol/endpoint.h"

namespace phalanx::control {

struct Listener {
  Fd fd;              // close-on-exec
  Endpoint endpoint;  // the host as given, the port as it came out
};

// Port 0: whichever is free.
//   ALREADY_EXISTS    the address is in use
//   INVALID_ARGUMENT  not an address of this machine
absl::StatusOr<Listener> Listen(const Endpoint& endpoint);
// The same on a socket that is there already, of the address's family.
absl::StatusOr<Listener> Listen(const Endpoint& endpoint, Fd socket);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_LISTEN_H_
