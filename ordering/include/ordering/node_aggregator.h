// Merges the readiness of a node's ranks, and keeps the one order of the node's devices. Pure.
//
// An operation of ranks of this node alone gets its ticket here; others get theirs from the
// sequencer. Both kinds are merged into one sequence, since two sources of tickets without that
// deadlock a device with one slot.
#ifndef PHALANX_ORDERING_NODE_AGGREGATOR_H_
#define PHALANX_ORDERING_NODE_AGGREGATOR_H_

#include <cstdint>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "ordering/messages.h"
#include "ordering/passed_lanes.h"
#include "ordering/roster.h"

namespace phalanx::ordering {

struct FromRank {
  int rank = 0;
  Report report;
};
struct FromSequencer {
  Order order;
};
struct NodeTick {};
using NodeInput = std::variant<FromRank, FromSequencer, NodeTick>;

struct ToRank {
  int rank = 0;
  Order order;
};
struct ToSequencer {
  Report report;
};
using NodeOutput = std::variant<ToRank, ToSequencer>;

struct NodeSettings {
  int node = 0;
  bool learns = true;  // adaptive: tells the sequencer of its own tickets
};

class NodeAggregator {
 public:
  // `roster` outlives it.
  NodeAggregator(const NodeSettings& settings, const Roster* roster);

  // Call with NodeTick about a hundred times a second.
  std::vector<NodeOutput> Step(const NodeInput& input);

 private:
  struct Merge {
    Party first;
    Ranks present;
    bool launched = true;  // on all who are present
    bool sent = false;     // upwards
  };

  void Handle(const FromRank& from);
  void Handle(const FromSequencer& from);
  void Handle(const NodeTick& tick);

  // From a rank.
  void On(int rank, const Present& present);
  void On(int rank, const Done& done);
  void On(int rank, const Clear& clear);
  void On(int rank, const Held& held);
  void On(int rank, const Passed& passed);
  template <typename Body>
  void On(int /*rank*/, const Body& body) {  // what isn't merged
    SendUp(body);
  }

  // From the sequencer.
  void On(const Ticket& ticket);
  void On(const Certify& certify);
  void On(const Fence& fence);
  void On(const Question& question);
  void On(const Resume& resume);
  void On(const AskSnapshot& ask);
  void On(const Verdict& verdict);

  bool IsLocal(const Lane& lane) const;
  void Settle(const OpName& op, Merge* merge);
  void SettleLane(const Lane& lane);
  bool IsThere(const OpName& op, const Merge& merge) const;
  Ranks MembersHere(const Lane& lane) const;
  void IssueLocal(const OpName& op, const Signature& signature);
  void PassTicket(const TicketNumber& number, const OpName& op);
  void EnterTerm();
  void SendUp(ReportBody body);
  void FlushLocalTickets();
  void SendDown(int rank, OrderBody body);
  void SendAll(const OrderBody& body);

  const NodeSettings settings_;
  const Roster* const roster_;
  std::vector<int> ranks_;  // of this node
  Term term_;
  bool certified_ = false;
  bool asked_ = false;  // from Question to Resume no ticket is issued
  absl::btree_map<OpName, Merge> merges_;
  PassedLanes passed_;                    // by rank
  TicketNumber last_;                     // in the node's order
  std::map<int, TicketNumber> previous_;  // by rank
  std::set<int> clear_;
  std::set<int> held_by_;
  std::map<TicketNumber, OpName> held_;
  std::set<OpName> refused_;  // by a verdict
  LocalTickets log_;
  std::vector<NodeOutput> outputs_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_NODE_AGGREGATOR_H_
