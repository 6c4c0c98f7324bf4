// A network of its own that a process may be in.
#ifndef PHALANX_CONTROL_PROCESS_NETWORK_PLACE_H_
#define PHALANX_CONTROL_PROCESS_NETWORK_PLACE_H_

namespace phalanx::control {

// Descriptors of namespaces, borrowed. What is in none of them any more is gone, with its
// interfaces, when the last descriptor is closed.
struct NetworkPlace {
  int network = -1;  // negative: where we are
  int user = -1;     // which the network belongs to; negative: ours
};

// For a process of one thread, also just after a fork: only system calls. False: errno says why.
// With a view of /sys that shows that network's interfaces, where the kernel allows it: UCX finds
// them there.
bool EnterNetwork(const NetworkPlace& place);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_NETWORK_PLACE_H_
