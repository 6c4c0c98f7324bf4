// A cluster's network on one machine: nodes that reach each other over slow links.
#ifndef PHALANX_CONTROL_EMULATION_EMULATED_NETWORK_H_
#define PHALANX_CONTROL_EMULATION_EMULATED_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control_emulation/cluster_shape.h"
#include "control_process/fd.h"
#include "control_process/network_place.h"
#include "faults/fault.h"

namespace phalanx::control {

// What has gone over a node's link, headers and acknowledgements included: what the queues in front
// of it have counted.
struct NodeTraffic {
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  uint64_t dropped_packets = 0;  // in both directions
};

// Made of network namespaces, veth pairs, a bridge and token buckets. All of it is in namespaces
// that have no name: it is gone once this object is and no process runs there, however they went.
// For a process of one thread.
class EmulatedNetwork {
 public:
  // `has_faults`: there may be some to suffer, for which it has another tool.
  //   NOT_FOUND          a tool is missing; says which and what to install
  //   PERMISSION_DENIED  the kernel doesn't let us; says what would help
  //   UNAVAILABLE        a tool failed; says how
  static absl::StatusOr<std::unique_ptr<EmulatedNetwork>> Make(const ClusterShape& shape,
                                                               bool has_faults);
  virtual ~EmulatedNetwork() = default;

  // Where the node's processes are to start.
  virtual NetworkPlace PlaceOf(int node) const = 0;
  // All nodes reach it, and it reaches them: the address of what listens on TakeSocket().
  virtual std::string hub_address() const = 0;
  // For TCP over IPv4, not bound yet. Once.
  virtual Fd TakeSocket() = 0;

  // Of each node. UNAVAILABLE when they can't be read.
  virtual absl::StatusOr<std::vector<NodeTraffic>> ReadTraffic() const = 0;

  // The rest is for networks that have faults.
  //
  // From now on exactly these faults of the network hold (faults::IsOfNetwork), of nodes that there
  // are. UNAVAILABLE when that can't be done; says why.
  virtual absl::Status Suffer(const std::vector<faults::Fault>& faults) = 0;
  // That were lost to faults. They have gone over the sender's link and not over the receiver's.
  virtual absl::StatusOr<uint64_t> ReadLostPackets() const = 0;
};

// The interface of each node.
const char* EmulatedInterface();
// One line without an end, for people: of what the network is made.
std::string DescribeEmulation(const ClusterShape& shape);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_EMULATION_EMULATED_NETWORK_H_
