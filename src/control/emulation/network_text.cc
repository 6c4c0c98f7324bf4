#include "control_emulation/network_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace phalanx::control {
namespace {

constexpr char kBridge[] = "hub0";
constexpr int kHubNumber = 254;

std::string MacOf(int number) { return absl::StrFormat("02:70:68:78:00:%02x", number); }

// What waits in front of a link goes out within 50 ms; more is dropped, as by a switch.
uint64_t QueueBytes(const ClusterShape& shape) {
  constexpr uint64_t kBitsPerByte = 8;
  constexpr uint64_t kDrainsPerSecond = 20;
  return kBurstBytes +
         std::max<uint64_t>(shape.bits_per_second / kBitsPerByte / kDrainsPerSecond, kBurstBytes);
}

}  // namespace

std::string NodeAddress(int node) { return absl::StrCat("10.0.0.", node + 1); }
std::string PortName(int node) { return absl::StrCat("port", node); }

std::string HubLinks(const std::vector<int>& node_fds) {
  // No IPv6, no snooping: nothing is to go over the wires that the job hasn't sent.
  std::string text =
      absl::StrCat("link set dev lo up\nlink add name ", kBridge, " address ", MacOf(kHubNumber),
                   " type bridge stp_state 0 mcast_snooping 0\n", "link set dev ", kBridge,
                   " addrgenmode none\n", "address add ", kHubAddress, "/24 dev ", kBridge,
                   "\nlink set dev ", kBridge, " up\n");
  for (size_t i = 0; i < node_fds.size(); ++i) {
    const int node = static_cast<int>(i);
    absl::StrAppend(&text, "link add name ", PortName(node), " type veth peer name ",
                    kNodeInterface, " address ", MacOf(node + 1), " netns /proc/self/fd/",
                    node_fds[i], "\nlink set dev ", PortName(node), " addrgenmode none\n",
                    "link set dev ", PortName(node), " master ", kBridge, " up\n");
  }
  return text;
}

// htb and not tbf: a fault may give what comes from one node a class of its own.
std::string HubQueues(const ClusterShape& shape) {
  std::string text;
  for (size_t i = 0; i < shape.ranks.size(); ++i) {
    const std::string port = PortName(static_cast<int>(i));
    absl::StrAppend(&text, "qdisc add dev ", port, " root handle 1: htb default 1\n");
    absl::StrAppend(&text, "class add dev ", port, " parent 1: classid 1:1 htb rate ",
                    shape.bits_per_second, "bit burst ", kBurstBytes, "b cburst ", kBurstBytes,
                    "b quantum 60000\n");
    absl::StrAppend(&text, "qdisc add dev ", port, " parent 1:1 bfifo limit ", QueueBytes(shape),
                    "\n");
  }
  return text;
}

std::string NodeLinks(int node) {
  return absl::StrCat("link set dev lo up\nlink set dev ", kNodeInterface, " addrgenmode none\n",
                      "address add ", NodeAddress(node), "/24 dev ", kNodeInterface,
                      "\nlink set dev ", kNodeInterface, " up\n");
}

std::string NodeQueues(const ClusterShape& shape) {
  return absl::StrCat("qdisc add dev ", kNodeInterface, " root tbf rate ", shape.bits_per_second,
                      "bit burst ", kBurstBytes, "b limit ", QueueBytes(shape), "b\n");
}

}  // namespace phalanx::control
