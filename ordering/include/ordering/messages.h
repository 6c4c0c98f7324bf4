// What ranks, nodes and the sequencer say to each other. docs/ordering.md says why each exists.
//
// Links carry messages in order and without loss while both ends live; a shell that sends again
// after a reconnect numbers them and drops what it has seen. Every message belongs to a term, and a
// receiver drops those of another term than its own: who enters a term says again what still
// matters.
#ifndef PHALANX_ORDERING_MESSAGES_H_
#define PHALANX_ORDERING_MESSAGES_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "ordering/explanation.h"
#include "ordering/names.h"
#include "ordering/signature.h"
#include "ordering/snapshot.h"

namespace phalanx::ordering {

// Rises in `epoch` with every new sequencer, in `generation` with every schedule and every fence.
struct Term {
  uint64_t epoch = 0;
  uint64_t generation = 0;
  auto operator<=>(const Term&) const = default;
};

// An operation's place in the one order. Those that a node gives to operations of its own ranks
// stand behind the global one that it had merged last. A ticket that is issued again after a
// failover keeps its number, so that numbers of all epochs compare.
struct TicketNumber {
  uint64_t epoch = 0;
  uint64_t global = 0;
  uint64_t local = 0;
  auto operator<=>(const TicketNumber&) const = default;
};

struct Ticket {
  TicketNumber number;
  TicketNumber previous;  // on the same device (rank) or node; default: the first since Resume
  OpName op;
};

// A learned, repeating order; on a rank only what concerns it.
struct Schedule {
  struct Entry {
    Lane lane;
    Signature signature;
  };
  struct Base {
    Lane lane;
    uint64_t sequence = 0;  // of the lane's first operation in the schedule
  };
  std::vector<Entry> entries;
  std::vector<Base> bases;  // one for each lane that occurs
};

// --- upwards: rank → node → sequencer
// ----------------------------------------------------------------

// The operation's stream has reached it on `rank` (a node names one of its ranks for all of them).
struct Present {
  OpName op;
  Signature signature;
  bool launched = false;  // on all for whom this speaks
  int rank = -1;
};
// The operation is complete, which takes back a Present of this term. In an announced term only if
// no member completes it before all have launched it, so that nobody waits for a ticket.
struct Done {
  OpName op;
};
// The schedule can't go on here: an operation that it doesn't foresee.
struct Diverged {
  OpName op;
};
// Nothing that was launched by speculation is incomplete any more.
struct Clear {};
// The answer to Question: tickets whose operations are launched and incomplete here.
struct Held {
  std::vector<Ticket> tickets;
};
// What a node ticketed itself, for the sequencer to learn from.
struct LocalTickets {
  std::vector<Schedule::Entry> entries;
  std::vector<uint64_t> sequences;  // as many
};
// Ranks of one node disagree.
struct Disagreement {
  OpName op;
  Party left;
  Party right;
};
// Nothing has moved on a rank for its stall deadline.
struct Stalled {
  int rank = -1;
};
struct SnapshotPart {
  uint64_t round = 0;
  RankSnapshot snapshot;
};

// A verdict that was carried out here, for a new sequencer: the one before may have died telling
// it.
struct Refused {
  std::shared_ptr<const Explanation> explanation;
};

// What is complete here, of lanes whose members complete operations apart: said on entering an
// announced term. There, completed counts as present: another member may still wait for its ticket.
struct Passed {
  // Operations of a lane from `first` up to `until` that a schedule has launched, so that nobody
  // has compared their signatures: these, over and over.
  struct Launched {
    uint64_t first = 0;
    uint64_t until = 0;
    std::vector<Signature> entries;
  };
  struct OfLane {
    Lane lane;
    uint64_t below = 0;            // all operations before this one are complete
    std::vector<uint64_t> beyond;  // others that are, ascending
    std::vector<Launched> launched;
  };
  std::vector<OfLane> lanes;
  int rank = -1;  // a node names one of its ranks, and says what is complete on all of them
};

using ReportBody = std::variant<Present, Done, Diverged, Clear, Held, LocalTickets, Disagreement,
                                Stalled, SnapshotPart, Refused, Passed>;
struct Report {
  Term term;
  ReportBody body;
};

// --- downwards: sequencer → node → rank
// --------------------------------------------------------------

// From here on the schedule holds.
struct Certify {
  std::shared_ptr<const Schedule> schedule;
};
// From here on operations are announced; tickets that are out stay valid.
struct Fence {};
// A new sequencer asks; a fence that also takes back all tickets that aren't launched.
struct Question {};
// The end of the question: these come first, in this order.
struct Resume {
  std::vector<Ticket> tickets;
};
struct AskSnapshot {
  uint64_t round = 0;
};
// The operations it names are aborted: each rank aborts those that it has and refuses those that it
// issues later, so that none is complete on one member and aborted on another.
struct Verdict {
  std::shared_ptr<const Explanation> explanation;
};

using OrderBody = std::variant<Ticket, Certify, Fence, Question, Resume, AskSnapshot, Verdict>;
struct Order {
  Term term;
  OrderBody body;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_MESSAGES_H_
