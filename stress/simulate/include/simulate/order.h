// What the ordering costs at scale: messages, time and memory of its cores, for jobs far larger
// than a machine holds. No processes, no sockets: the cores' messages are handed on in one thread.
#ifndef PHALANX_SIMULATE_ORDER_H_
#define PHALANX_SIMULATE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace phalanx::simulate {

struct OrderSettings {
  int ranks = 16'384;
  int communicators = 4'096;
  int ranks_per_node = 8;
  int members = 64;        // of each communicator
  int stride = 0;          // from one member to the next; 0: ranks_per_node, one on each node
  int operations = 4;      // of each communicator, one after the other
  bool certified = false;  // else announced
  int slots = 2;           // of each device
};

// Messages by who handles them. The nodes' agents and the coordinator talk over the network, ranks
// and their agent on their node.
struct OrderMessages {
  uint64_t to_coordinator = 0;
  uint64_t from_coordinator = 0;
  // Of the node that handled most; an operation counts there if a rank of the node is a member.
  int busiest_node = 0;
  uint64_t busiest_network = 0;
  uint64_t busiest_local = 0;
  uint64_t busiest_operations = 0;
  uint64_t all = 0;  // of all nodes, network and local
};

struct OrderMemory {
  size_t sequencer = 0;                // when nothing is under way
  double sequencer_per_operation = 0;  // in flight: present on all nodes but one
  size_t node = 0;
  double node_per_operation = 0;  // present on all of the node's members but one
  size_t rank = 0;
  double rank_per_operation = 0;
  size_t roster = 0;  // who belongs to what: one in each process of the control plane
};

struct OrderResult {
  uint64_t operations = 0;  // measured, complete on all members
  uint64_t tickets = 0;     // of the sequencer, for these
  OrderMessages messages;   // of these
  // Of the cores, on one core, for one operation of all communicators' size: the sequencer's for a
  // ticket, a node's and a rank's for its own share.
  double sequencer_ns = 0;
  double node_ns = 0;
  double rank_ns = 0;
  OrderMemory memory;
  // Certified:
  uint64_t learning_operations = 0;  // before the order was known
  uint64_t certified_launches = 0;   // in the measured part
  double certify_seconds = 0;        // CPU of all nodes and ranks, to take the schedule
  uint64_t fences = 0;
};

// InvalidArgument: settings that fit nowhere, with the option's name. Internal: operations were
// left.
absl::StatusOr<OrderResult> SimulateOrder(const OrderSettings& settings);

std::string OrderText(const OrderSettings& settings, const OrderResult& result);
absl::Status WriteOrderJson(const OrderSettings& settings, const OrderResult& result,
                            const std::string& path);

}  // namespace phalanx::simulate

#endif  // PHALANX_SIMULATE_ORDER_H_
