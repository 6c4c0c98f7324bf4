#include "ordering/sequencer.h"

#include <algorithm>
#include <utility>

#include "ordering/explain.h"

namespace phalanx::ordering {
namespace {

constexpr size_t kMostIterations = 64;

bool IsOverdueIn(const RankSnapshot& snapshot, const OpName& op) {
  return std::any_of(snapshot.ops.begin(), snapshot.ops.end(),
                     [&](const OpView& view) { return view.name == op && view.overdue; });
}

bool WasPresent(const RankSnapshot& snapshot, const OpName& op) {
  for (const OpView& view : snapshot.ops) {
    if (view.name == op) return view.present;
  }
  return std::any_of(snapshot.issued.begin(), snapshot.issued.end(), [&](const auto& issued) {
    return issued.lane == op.lane && issued.next > op.sequence;
  });
}

}  // namespace

Sequencer::Sequencer(const SequencerSettings& settings, const Roster* roster)
    : settings_(settings),
      roster_(roster),
      term_{settings.epoch, 0},
      learner_(settings.longest_iteration),
      iterations_(settings.iterations) {}

std::vector<SequencerOutput> Sequencer::Step(const SequencerInput& input) {
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void Sequencer::Handle(const SequencerBegins& /*begins*/) {
  if (settings_.epoch == 0) {
    for (int node = 0; node < roster_->nodes(); ++node) clear_.insert(node);
    return;
  }
  asking_ = true;
  TellAll(Question{});
}

void Sequencer::Handle(const NodeSaid& said) {
  const Report& report = said.report;
  const bool of_any_term = std::holds_alternative<Stalled>(report.body) ||
                           std::holds_alternative<SnapshotPart>(report.body);
  if (report.term != term_ && !of_any_term) return;
  std::visit([&](const auto& body) { On(said.node, body); }, report.body);
}

// --- tickets
// ----------------------------------------------------------------------------------------

void Sequencer::On(int node, const Present& present) {
  if (refused_.count(present.op) > 0) return;
  const auto [found, is_new] = pending_.try_emplace(present.op);
  Pending& pending = found->second;
  const Party party{present.rank, present.signature};
  if (is_new) pending.first = party;
  if (pending.first.signature != party.signature) {
    ConcludeWith(ExplainMismatch(present.op, pending.first, party));
    return;
  }
  if (IsLaunchedOtherwise(present.op, party)) return;
  if (!pending.nodes.insert(node).second) return;
  pending.launched = pending.launched && present.launched;
  if (asking_ || !IsPresentEverywhere(present.op, pending)) return;
  if (!certified_) {
    IssueTicket(present.op, present.signature);
  } else if (!pending.launched) {
    BeginFence();
  }
}

void Sequencer::On(int node, const Done& done) {
  const auto found = pending_.find(done.op);
  if (found == pending_.end()) return;
  found->second.nodes.erase(node);
  if (found->second.nodes.empty()) pending_.erase(found);
}

bool Sequencer::IsPresentEverywhere(const OpName& op, const Pending& pending) const {
  if (pending.nodes.size() == roster_->NodeCountOf(op.lane)) return true;
  if (!passed_.Knows(op.lane)) return false;
  const Ranks nodes = roster_->NodesOf(op.lane);
  return std::all_of(nodes.begin(), nodes.end(), [&](int node) {
    return pending.nodes.contains(node) || passed_.Has(node, op);
  });
}

// Completed counts as present, so what waits in these lanes may be ready now.
void Sequencer::On(int node, const Passed& passed) {
  passed_.Add(node, passed);
  std::vector<std::pair<OpName, Party>> waiting;
  for (const Passed::OfLane& of_lane : passed.lanes) {
    for (auto at = pending_.lower_bound({of_lane.lane, 0});
         at != pending_.end() && at->first.lane == of_lane.lane; ++at) {
      waiting.emplace_back(at->first, at->second.first);
    }
  }
  for (const auto& [op, party] : waiting) {
    const auto found = pending_.find(op);
    if (found == pending_.end() || IsLaunchedOtherwise(op, party)) continue;
    if (!asking_ && !certified_ && IsPresentEverywhere(op, found->second)) {
      IssueTicket(op, party.signature);
    }
  }
}

// A member has completed, by the schedule, something else than what this one announces.
bool Sequencer::IsLaunchedOtherwise(const OpName& op, const Party& party) {
  const std::optional<Party> launched = passed_.LaunchedAs(op);
  if (!launched.has_value() || launched->signature == party.signature) return false;
  ConcludeWith(ExplainMismatch(OpName(op), *launched, Party(party)));
  return true;
}

void Sequencer::IssueTicket(OpName op, Signature signature) {
  pending_.erase(op);
  const TicketNumber number{term_.epoch, ++last_global_, 0};
  for (const int node : roster_->NodesOf(op.lane)) {
    Tell(node, Ticket{number, previous_[node], op});
    previous_[node] = number;
  }
  if (!settings_.adaptive) return;
  learner_.Add({op.lane, signature}, op.sequence);
  Learn();
}

// --- schedules
// --------------------------------------------------------------------------------------

void Sequencer::On(int /*node*/, const LocalTickets& tickets) {
  if (!settings_.adaptive) return;
  for (size_t i = 0; i < tickets.entries.size(); ++i) {
    learner_.Add(tickets.entries[i], tickets.sequences[i]);
  }
  Learn();
}

void Sequencer::On(int node, const Clear& /*clear*/) {
  clear_.insert(node);
  Learn();
}

bool Sequencer::MayCertify() const {
  return settings_.adaptive && settings_.fewest_slots >= 2 && !certified_ && !asking_ &&
         static_cast<int>(clear_.size()) == roster_->nodes();
}

void Sequencer::Learn() {
  if (!MayCertify()) return;
  std::optional<Schedule> schedule = learner_.Find(iterations_);
  if (schedule.has_value() && Foresees(*schedule)) BeginSchedule(*std::move(schedule));
}

void Sequencer::Handle(const Suggest& suggest) {
  if (MayCertify() && Foresees(suggest.schedule)) BeginSchedule(suggest.schedule);
}

void Sequencer::BeginSchedule(Schedule schedule) {
  certified_ = true;
  EnterTerm({term_.epoch, term_.generation + 1},
            Certify{std::make_shared<const Schedule>(std::move(schedule))});
}

// Whether all operations that wait would find their place in it.
bool Sequencer::Foresees(const Schedule& schedule) const {
  return std::all_of(pending_.begin(), pending_.end(), [&](const auto& item) {
    return std::any_of(schedule.bases.begin(), schedule.bases.end(), [&](const auto& base) {
      return base.lane == item.first.lane && base.sequence <= item.first.sequence;
    });
  });
}

void Sequencer::On(int /*node*/, const Diverged& /*diverged*/) {
  if (certified_) BeginFence();
}

void Sequencer::BeginFence() {
  certified_ = false;
  ++fences_;
  iterations_ = std::min(iterations_ * 2, kMostIterations);
  EnterTerm({term_.epoch, term_.generation + 1}, Fence{});
}

void Sequencer::EnterTerm(const Term& term, const OrderBody& body) {
  term_ = term;
  pending_.clear();
  passed_.Clear();
  clear_.clear();
  learner_.Clear();
  TellAll(body);
}

// --- failover
// ---------------------------------------------------------------------------------------

void Sequencer::On(int node, const Held& held) {
  if (!asking_) return;
  for (const Ticket& ticket : held.tickets) held_.emplace(ticket.number, ticket.op);
  answered_.insert(node);
  if (static_cast<int>(answered_.size()) < roster_->nodes()) return;
  asking_ = false;
  std::map<int, Resume> of_node;
  for (const auto& [number, op] : held_) {
    pending_.erase(op);
    for (const int member : roster_->NodesOf(op.lane)) {
      of_node[member].tickets.push_back({number, previous_[member], op});
      previous_[member] = number;
    }
  }
  for (int member = 0; member < roster_->nodes(); ++member) Tell(member, of_node[member]);
  std::vector<OpName> ready;
  for (const auto& [op, pending] : pending_) {
    if (IsPresentEverywhere(op, pending)) ready.push_back(op);
  }
  for (const OpName& op : ready) {
    const auto found = pending_.find(op);
    if (found != pending_.end()) IssueTicket(op, found->second.first.signature);
  }
}

// --- what can't go on
// -------------------------------------------------------------------------------

void Sequencer::On(int /*node*/, const Disagreement& disagreement) {
  ConcludeWith(ExplainMismatch(disagreement.op, disagreement.left, disagreement.right));
}

// One inquiry serves all ranks that stall during it. Who does so twice has waited long enough for
// its end.
void Sequencer::On(int /*node*/, const Stalled& stalled) {
  if (collecting_ && stalled_.insert(stalled.rank).second) return;
  collecting_ = true;
  stalled_ = {stalled.rank};
  before_.clear();
  asked_in_ = term_;
  AskAll();
}

void Sequencer::AskAll() {
  parts_.clear();
  TellAll(AskSnapshot{++round_});
}

// Two rounds, the second after the first is complete: if nothing moved between a rank's two
// answers, both were true at the moment between the rounds, on all ranks.
void Sequencer::On(int /*node*/, const SnapshotPart& part) {
  if (part.round != round_) return;
  parts_[part.snapshot.rank] = part.snapshot;
  if (static_cast<int>(parts_.size()) < roster_->ranks()) return;
  if (before_.empty()) {
    before_ = parts_;
    AskAll();
    return;
  }
  const bool moved = std::any_of(parts_.begin(), parts_.end(), [this](const auto& item) {
    return before_.at(item.first).progress != item.second.progress;
  });
  collecting_ = false;
  ++round_;  // what comes late is of no interest
  if (certified_ && asked_in_ == term_ && IsLate()) {
    BeginFence();
    return;
  }
  if (moved) return;
  std::optional<Explanation> explanation = Explain(*roster_, parts_);
  if (!explanation.has_value()) return;
  if (!settings_.aborts_cycles) explanation->aborted.clear();
  ConcludeWith(*std::move(explanation));
}

// Whether some rank doesn't launch what has been, or is, present on all the others: it isn't its
// turn there, and those that have completed it have nothing to report.
bool Sequencer::IsLate() const {
  for (const auto& [rank, snapshot] : parts_) {
    for (const OpView& view : snapshot.ops) {
      if (!view.overdue || !IsOverdueIn(before_.at(rank), view.name)) continue;
      const Ranks members = roster_->MembersOf(view.name.lane);
      if (std::all_of(members.begin(), members.end(),
                      [&](int member) { return WasPresent(parts_.at(member), view.name); })) {
        return true;
      }
    }
  }
  return false;
}

void Sequencer::On(int /*node*/, const Refused& refused) { ConcludeWith(*refused.explanation); }

void Sequencer::ConcludeWith(Explanation explanation) {
  if (!conclusions_.insert(Describe(explanation)).second) return;
  for (const OpName& op : explanation.aborted) {
    refused_.insert(op);
    pending_.erase(op);
  }
  const auto shared = std::make_shared<const Explanation>(std::move(explanation));
  outputs_.push_back(Conclude{shared});
  TellAll(Verdict{shared});
}

void Sequencer::Tell(int node, OrderBody body) {
  outputs_.push_back(TellNode{node, Order{term_, std::move(body)}});
}

void Sequencer::TellAll(const OrderBody& body) {
  for (int node = 0; node < roster_->nodes(); ++node) Tell(node, body);
}

}  // namespace phalanx::ordering
