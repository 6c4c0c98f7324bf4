// An emulated network as commands for the batch modes of ip(8) and tc(8). Pure.
#ifndef PHALANX_CONTROL_EMULATION_NETWORK_TEXT_H_
#define PHALANX_CONTROL_EMULATION_NETWORK_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "control_emulation/cluster_shape.h"

namespace phalanx::control {

// Each node has one interface, kNodeInterface, with a token bucket for what it sends; its other end
// is a port of the bridge in the hub, with a token bucket for what is sent to it. Whatever runs in
// the hub (the coordinator) has the bridge's address.
inline constexpr char kNodeInterface[] = "eth0";
inline constexpr char kHubAddress[] = "10.0.0.254";
inline constexpr uint64_t kBurstBytes = uint64_t{128} << 10;

std::string NodeAddress(int node);
std::string PortName(int node);

// In the hub. `node_fds`: each node's network namespace, in the process that reads this.
std::string HubLinks(const std::vector<int>& node_fds);
std::string HubQueues(const ClusterShape& shape);
// In the node itself.
std::string NodeLinks(int node);
std::string NodeQueues(const ClusterShape& shape);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_EMULATION_NETWORK_TEXT_H_
