// The job's one source of order across nodes: tickets, schedules, fences, verdicts. Pure.
//
// Soft state: a new one takes over with the next epoch and learns all it needs by its question.
#ifndef PHALANX_ORDERING_SEQUENCER_H_
#define PHALANX_ORDERING_SEQUENCER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "ordering/learner.h"
#include "ordering/messages.h"
#include "ordering/passed_lanes.h"
#include "ordering/roster.h"

namespace phalanx::ordering {

struct SequencerBegins {};  // the first input, once
struct NodeSaid {
  int node = 0;
  Report report;
};
// The caller knows what will be repeated. Taken if speculation is possible and nothing else is
// certified.
struct Suggest {
  Schedule schedule;
};
using SequencerInput = std::variant<SequencerBegins, NodeSaid, Suggest>;

struct TellNode {
  int node = 0;
  Order order;
};
struct Conclude {  // for the log; all ranks are told by TellNode
  std::shared_ptr<const Explanation> explanation;
};
using SequencerOutput = std::variant<TellNode, Conclude>;

struct SequencerSettings {
  uint64_t epoch = 0;         // 0 begins a job; each later one takes over
  bool adaptive = true;       // learns schedules
  int fewest_slots = 1;       // of all devices; speculation needs 2
  bool aborts_cycles = true;  // otherwise they are only reported
  size_t iterations = 3;      // equal ones that make a schedule; doubles with every fence, up to 64
  size_t longest_iteration = 4096;  // operations
};

class Sequencer {
 public:
  // `roster` outlives it.
  Sequencer(const SequencerSettings& settings, const Roster* roster);

  std::vector<SequencerOutput> Step(const SequencerInput& input);

  Term term() const { return term_; }
  bool certified() const { return certified_; }
  uint64_t tickets() const { return last_global_; }
  uint64_t fences() const { return fences_; }

 private:
  struct Pending {
    Party first;
    absl::flat_hash_set<int> nodes;  // that are present
    bool launched = true;
  };

  void Handle(const SequencerBegins& begins);
  void Handle(const NodeSaid& said);
  void Handle(const Suggest& suggest);
  void On(int node, const Present& present);
  void On(int node, const Done& done);
  void On(int node, const Diverged& diverged);
  void On(int node, const Clear& clear);
  void On(int node, const Held& held);
  void On(int node, const LocalTickets& tickets);
  void On(int node, const Disagreement& disagreement);
  void On(int node, const Stalled& stalled);
  void On(int node, const SnapshotPart& part);
  void On(int node, const Refused& refused);
  void On(int node, const Passed& passed);

  bool IsPresentEverywhere(const OpName& op, const Pending& pending) const;
  bool IsLaunchedOtherwise(const OpName& op, const Party& party);
  // By value: the caller's may lie in what is erased.
  void IssueTicket(OpName op, Signature signature);
  void Learn();
  bool MayCertify() const;
  void BeginSchedule(Schedule schedule);
  bool Foresees(const Schedule& schedule) const;
  void BeginFence();
  void EnterTerm(const Term& term, const OrderBody& body);
  void AskAll();
  bool IsLate() const;
  void ConcludeWith(Explanation explanation);
  void Tell(int node, OrderBody body);
  void TellAll(const OrderBody& body);

  const SequencerSettings settings_;
  const Roster* const roster_;
  Term term_;
  bool certified_ = false;
  bool asking_ = false;  // from the question until all have answered
  uint64_t last_global_ = 0;
  std::map<int, TicketNumber> previous_;  // by node
  absl::btree_map<OpName, Pending> pending_;
  PassedLanes passed_;  // by node
  std::set<int> clear_;
  std::set<int> answered_;
  std::map<TicketNumber, OpName> held_;
  Learner learner_;
  size_t iterations_;
  uint64_t fences_ = 0;
  uint64_t round_ = 0;                  // of snapshots
  bool collecting_ = false;             // answers are on their way
  std::set<int> stalled_;               // ranks that have stalled since they were asked for
  Term asked_in_;                       // the term of that moment
  std::map<int, RankSnapshot> parts_;   // of this round, by rank
  std::map<int, RankSnapshot> before_;  // of the round before, if it was complete
  std::set<std::string> conclusions_;
  std::set<OpName> refused_;
  std::vector<SequencerOutput> outputs_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_SEQUENCER_H_
