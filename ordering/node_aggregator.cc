#include "ordering/node_aggregator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace phalanx::ordering {
namespace {}  // namespace

NodeAggregator::NodeAggregator(const NodeSettings& settings, const Roster* roster)
    : settings_(settings), roster_(roster) {
  for (int rank = 0; rank < roster->ranks(); ++rank) {
    if (roster->NodeOf(rank) == settings.node) ranks_.push_back(rank);
  }
}

std::vector<NodeOutput> NodeAggregator::Step(const NodeInput& input) {
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void NodeAggregator::Handle(const FromRank& from) {
  const bool of_any_term = std::holds_alternative<Stalled>(from.report.body) ||
                           std::holds_alternative<SnapshotPart>(from.report.body);
  if (from.report.term != term_ && !of_any_term) return;
  std::visit([&](const auto& body) { On(from.rank, body); }, from.report.body);
}

void NodeAggregator::Handle(const FromSequencer& from) {
  const Order& order = from.order;
  const bool begins_term = std::holds_alternative<Certify>(order.body) ||
                           std::holds_alternative<Fence>(order.body) ||
                           std::holds_alternative<Question>(order.body);
  if (begins_term ? order.term <= term_ : order.term != term_) return;
  if (begins_term) {
    term_ = order.term;
    EnterTerm();
  }
  std::visit([this](const auto& body) { On(body); }, order.body);
}

void NodeAggregator::Handle(const NodeTick& /*tick*/) { FlushLocalTickets(); }

// --- from ranks
// -------------------------------------------------------------------------------------

void NodeAggregator::On(int rank, const Present& present) {
  if (refused_.count(present.op) > 0) return;  // the verdict is on its way to the rank
  const auto [found, is_new] = merges_.try_emplace(present.op);
  Merge& merge = found->second;
  if (is_new) merge.first = {rank, present.signature};
  if (merge.first.signature != present.signature) {
    SendUp(Disagreement{present.op, merge.first, {rank, present.signature}});
    return;
  }
  if (std::find(merge.present.begin(), merge.present.end(), rank) != merge.present.end()) return;
  merge.present.push_back(rank);
  merge.launched = merge.launched && present.launched;
  Settle(present.op, &merge);
}

Ranks NodeAggregator::MembersHere(const Lane& lane) const {
  Ranks here;
  for (const int rank : ranks_) {
    if (roster_->IsMember(lane, rank)) here.push_back(rank);
  }
  return here;
}

// Whether each member on this node is present for the operation, or has completed it.
bool NodeAggregator::IsThere(const OpName& op, const Merge& merge) const {
  if (static_cast<int>(merge.present.size()) == roster_->CountOn(op.lane, settings_.node)) {
    return true;
  }
  if (!passed_.Knows(op.lane)) return false;
  const Ranks members = MembersHere(op.lane);
  return std::all_of(members.begin(), members.end(), [&](int rank) {
    return passed_.Has(rank, op) ||
           std::find(merge.present.begin(), merge.present.end(), rank) != merge.present.end();
  });
}

void NodeAggregator::SettleLane(const Lane& lane) {
  std::vector<OpName> waiting;
  for (auto at = merges_.lower_bound({lane, 0}); at != merges_.end() && at->first.lane == lane;
       ++at) {
    if (!at->second.sent) waiting.push_back(at->first);
  }
  for (const OpName& op : waiting) Settle(op, &merges_.at(op));
}

// Acts on an operation for which all members on this node are there.
void NodeAggregator::Settle(const OpName& op, Merge* merge) {
  const std::optional<Party> launched = passed_.LaunchedAs(op);
  if (launched.has_value() && launched->signature != merge->first.signature) {
    SendUp(Disagreement{op, *launched, merge->first});
    return;
  }
  if (!IsThere(op, *merge)) return;
  if (!IsLocal(op.lane) || certified_) {
    merge->sent = true;
    SendUp(Present{op, merge->first.signature, merge->launched, merge->first.rank});
  } else if (!asked_) {
    IssueLocal(op, merge->first.signature);
  }
}

void NodeAggregator::On(int rank, const Done& done) {
  const auto found = merges_.find(done.op);
  if (found == merges_.end()) return;
  Merge& merge = found->second;
  merge.present.erase(std::remove(merge.present.begin(), merge.present.end(), rank),
                      merge.present.end());
  if (merge.sent) SendUp(Done{done.op});
  merge.sent = false;
  if (merge.present.empty()) merges_.erase(found);
}

void NodeAggregator::On(int rank, const Clear& /*clear*/) {
  if (!clear_.insert(rank).second || clear_.size() < ranks_.size()) return;
  SendUp(Clear{});
}

void NodeAggregator::On(int rank, const Held& held) {
  for (const Ticket& ticket : held.tickets) held_.emplace(ticket.number, ticket.op);
  if (!held_by_.insert(rank).second || held_by_.size() < ranks_.size()) return;
  Held global;
  for (const auto& [number, op] : held_) {
    if (number.local == 0) global.tickets.push_back({number, {}, op});
  }
  SendUp(std::move(global));
}

void NodeAggregator::On(int rank, const Passed& passed) {
  passed_.Add(rank, passed);
  Passed all;
  all.rank = rank;
  for (const Passed::OfLane& of_lane : passed.lanes) {
    SettleLane(of_lane.lane);
    if (IsLocal(of_lane.lane)) continue;
    std::optional<Passed::OfLane> of_all = passed_.OfAll(of_lane.lane, MembersHere(of_lane.lane));
    if (of_all.has_value()) all.lanes.push_back(*std::move(of_all));
  }
  if (!all.lanes.empty()) SendUp(std::move(all));
}

// --- from the sequencer
// -----------------------------------------------------------------------------

void NodeAggregator::On(const Ticket& ticket) {
  last_ = ticket.number;
  PassTicket(ticket.number, ticket.op);
}

void NodeAggregator::On(const Certify& certify) {
  certified_ = true;
  std::map<int, std::shared_ptr<Schedule>> parts;
  for (const int rank : ranks_) parts[rank] = std::make_shared<Schedule>();
  absl::flat_hash_map<Lane, Ranks> known;
  const auto members_here = [&](const Lane& lane) -> const Ranks& {
    const auto [found, is_new] = known.try_emplace(lane);
    if (is_new) found->second = MembersHere(lane);
    return found->second;
  };
  for (const Schedule::Base& base : certify.schedule->bases) {
    for (const int rank : members_here(base.lane)) parts[rank]->bases.push_back(base);
  }
  for (const Schedule::Entry& entry : certify.schedule->entries) {
    for (const int rank : members_here(entry.lane)) parts[rank]->entries.push_back(entry);
  }
  for (const auto& [rank, part] : parts) SendDown(rank, Certify{part});
}

void NodeAggregator::On(const Fence& fence) { SendAll(fence); }

void NodeAggregator::On(const Question& question) {
  asked_ = true;
  held_.clear();
  held_by_.clear();
  SendAll(question);
}

// What was launched somewhere comes first, in the old order: the numbers say it.
void NodeAggregator::On(const Resume& resume) {
  if (!asked_) return;
  asked_ = false;
  std::map<TicketNumber, OpName> again;
  for (const auto& [number, op] : held_) {
    if (number.local != 0) again.emplace(number, op);
  }
  for (const Ticket& ticket : resume.tickets) again.emplace(ticket.number, ticket.op);
  std::map<int, Resume> of_rank;
  previous_.clear();
  for (const auto& [number, op] : again) {
    merges_.erase(op);
    for (const int rank : ranks_) {
      if (!roster_->IsMember(op.lane, rank)) continue;
      of_rank[rank].tickets.push_back({number, previous_[rank], op});
      previous_[rank] = number;
    }
  }
  for (const int rank : ranks_) SendDown(rank, of_rank[rank]);
  last_ = {term_.epoch, 0, 0};
  std::vector<OpName> waiting;
  for (const auto& [op, merge] : merges_) {
    if (IsLocal(op.lane)) waiting.push_back(op);
  }
  for (const OpName& op : waiting) Settle(op, &merges_.at(op));
}

void NodeAggregator::On(const AskSnapshot& ask) { SendAll(ask); }

void NodeAggregator::On(const Verdict& verdict) {
  for (const OpName& op : verdict.explanation->aborted) {
    refused_.insert(op);
    merges_.erase(op);
  }
  SendAll(verdict);
}

// ----------------------------------------------------------------------------------------------------

// Of operations that this node has to do with.
bool NodeAggregator::IsLocal(const Lane& lane) const { return roster_->NodeCountOf(lane) == 1; }

void NodeAggregator::IssueLocal(const OpName& op, const Signature& signature) {
  last_.epoch = term_.epoch;
  ++last_.local;
  if (settings_.learns) {
    log_.entries.push_back({op.lane, signature});
    log_.sequences.push_back(op.sequence);
  }
  PassTicket(last_, OpName(op));
}

void NodeAggregator::PassTicket(const TicketNumber& number, const OpName& op) {
  for (const int rank : ranks_) {
    if (!roster_->IsMember(op.lane, rank)) continue;
    SendDown(rank, Ticket{number, previous_[rank], op});
    previous_[rank] = number;
  }
  merges_.erase(op);
}

void NodeAggregator::EnterTerm() {
  certified_ = false;
  merges_.clear();
  passed_.Clear();
  clear_.clear();
  log_ = {};
}

void NodeAggregator::SendUp(ReportBody body) {
  FlushLocalTickets();
  outputs_.push_back(ToSequencer{Report{term_, std::move(body)}});
}

void NodeAggregator::FlushLocalTickets() {
  if (log_.entries.empty()) return;
  outputs_.push_back(ToSequencer{Report{term_, std::exchange(log_, {})}});
}

void NodeAggregator::SendDown(int rank, OrderBody body) {
  outputs_.push_back(ToRank{rank, Order{term_, std::move(body)}});
}

void NodeAggregator::SendAll(const OrderBody& body) {
  for (const int rank : ranks_) SendDown(rank, body);
}

}  // namespace phalanx::ordering
