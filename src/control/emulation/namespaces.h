// Network namespaces without names, and tools that run in them.
#ifndef PHALANX_CONTROL_EMULATION_NAMESPACES_H_
#define PHALANX_CONTROL_EMULATION_NAMESPACES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control_process/fd.h"
#include "control_process/network_place.h"

namespace phalanx::control {

struct Namespaces {
  Fd user;  // invalid: we needed none
  std::vector<Fd> networks;
  Fd socket;  // of the first network: TCP over IPv4, not bound

  NetworkPlace Place(size_t network) const { return {networks[network].get(), user.get()}; }
};

// New and empty; they last as long as somebody has a descriptor of them or runs there, so nothing
// is left when this process and its children are killed. Without the right to make them, in a user
// namespace of our own. PERMISSION_DENIED when the kernel allows neither. For a process of one
// thread.
absl::StatusOr<Namespaces> MakeNamespaces(size_t networks);

struct Tool {
  std::string file;
  std::vector<std::string> arguments;  // after its name
  std::string input;
  std::vector<int> kept_fds;  // under the same numbers
};

// Runs a program there to its end, which comes soon; what it has written to its standard output.
// UNAVAILABLE, with what it has written, when it fails. For a process of one thread.
absl::StatusOr<std::string> RunTool(const NetworkPlace& place, const Tool& tool);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_EMULATION_NAMESPACES_H_
