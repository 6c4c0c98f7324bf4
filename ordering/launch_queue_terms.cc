// The launch queue's answers to its node: tickets, and the changes of term.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "ordering/launch_queue.h"

namespace phalanx::ordering {

void LaunchQueue::Handle(const FromNode& from) {
  const Order& order = from.order;
  const bool begins_term = std::holds_alternative<Certify>(order.body) ||
                           std::holds_alternative<Fence>(order.body) ||
                           std::holds_alternative<Question>(order.body);
  const bool of_any_term = std::holds_alternative<AskSnapshot>(order.body) ||
                           std::holds_alternative<Verdict>(order.body);
  if (begins_term ? order.term <= term_ : order.term != term_ && !of_any_term) return;
  if (begins_term) term_ = order.term;
  std::visit([this](const auto& body) { On(body); }, order.body);
}

void LaunchQueue::On(const Ticket& ticket) {
  PHX_CHECK_MSG(ticket.previous == last_ticket_, "a link lost or reordered a ticket");
  last_ticket_ = ticket.number;
  ++tickets_seen_;
  Op* op = Find(ticket.op);
  if (op == nullptr) return;  // complete: launched by speculation everywhere
  op->ticketed = true;
  op->number = ticket.number;
  ++tickets_open_;
  tickets_.push_back(ticket);
  Advance();
}

void LaunchQueue::On(const Certify& certify) {
  certified_ = true;
  diverged_ = false;
  for (const Schedule::Base& base : certify.schedule->bases) {
    LaneState& lane = lanes_[LaneOf(base.lane)];
    lane.scheduled = true;
    lane.base = lane.first = lane.cursor = base.sequence;
    ahead_ += lane.next - base.sequence;
  }
  std::vector<CertifiedRun::Entry> entries;
  for (const Schedule::Entry& entry : certify.schedule->entries) {
    const uint32_t lane = LaneOf(entry.lane);
    entries.push_back({lane, HashOf(entry.signature), entry.signature});
    lanes_[lane].hashes.push_back(entries.back().hash);
    if (!Synchronizes(entry.signature)) lanes_[lane].buffers = true;
  }
  run_.Begin(std::move(entries));
  for (auto& [id, op] : ops_) {
    op.reported = false;
    CheckForeseen(op);
  }
  marked_ns_ = now_ns_;
  marked_position_ = run_.launched();
  Advance();
}

void LaunchQueue::On(const Fence& /*fence*/) { EnterAnnounced(); }

void LaunchQueue::On(const Question& /*question*/) {
  tickets_.clear();
  last_ticket_ = {};
  Held held;
  for (auto& [id, op] : ops_) {
    if (!op.ticketed) continue;
    if (op.launched) {
      held.tickets.push_back({op.number, {}, op.name});
    } else {
      op.ticketed = false;
      --tickets_open_;
    }
  }
  for (const auto& verdict : verdicts_) Send(Refused{verdict});
  // Presents and Passed go before, so that none of them can arrive after Resume.
  EnterAnnounced();
  Send(std::move(held));
}

void LaunchQueue::On(const Resume& resume) {
  for (const Ticket& ticket : resume.tickets) {
    last_ticket_ = ticket.number;
    tickets_.push_back(ticket);
    Op* op = Find(ticket.op);
    if (op == nullptr || op->ticketed) continue;
    op->ticketed = true;
    op->number = ticket.number;
    ++tickets_open_;
  }
  Advance();
}

void LaunchQueue::On(const AskSnapshot& ask) { Send(SnapshotPart{ask.round, TakeSnapshot()}); }

void LaunchQueue::On(const Verdict& verdict) {
  Spill();
  if (!verdict.explanation->aborted.empty()) verdicts_.push_back(verdict.explanation);
  for (const OpName& name : verdict.explanation->aborted) {
    refused_.emplace(name, verdict.explanation);
    const Op* op = Find(name);
    if (op == nullptr) continue;
    outputs_.push_back(Failed{op->id, verdict.explanation});
    Forget(op->id);
  }
  outputs_.push_back(Explained{verdict.explanation});
  ReportClear();
  Advance();
}

// What the schedule foresees is launched by it; anything else can't be, by anybody.
void LaunchQueue::CheckForeseen(const Op& op) {
  if (!certified_ || diverged_ || op.launched || op.ticketed) return;
  const LaneState& lane = lanes_[op.lane];
  if (lane.scheduled && op.name.sequence >= lane.base) {
    const uint64_t place = (op.name.sequence - lane.base) % lane.hashes.size();
    if (lane.hashes[place] == HashOf(op.signature)) return;
  }
  diverged_ = true;
  Send(Diverged{op.name});
}

void LaunchQueue::EnterAnnounced() {
  certified_ = false;
  diverged_ = false;
  ahead_ = 0;
  Spill();
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    if (!std::exchange(lanes_[i].scheduled, false)) continue;
    KeepLaunched(i);
    lanes_[i].hashes.clear();
  }
  for (auto& [id, op] : ops_) {
    op.reported = false;
    if (op.present) ReportPresent(&op);
  }
  ReportPassed();
  clear_sent_ = false;
  ReportClear();
  fast_ = false;
}

// What the schedule has launched, for members that come later and may mean something else. They
// have seen the same schedules, so few are needed.
void LaunchQueue::KeepLaunched(uint32_t index) {
  constexpr size_t kMost = 8;
  LaneState& lane = lanes_[index];
  if (!lane.buffers || lane.first >= lane.cursor) return;
  Passed::Launched launched{lane.first, lane.cursor, {}};
  for (const CertifiedRun::Entry& entry : run_.entries()) {
    if (entry.lane == index) launched.entries.push_back(entry.signature);
  }
  const uint64_t turn = (lane.first - lane.base) % launched.entries.size();
  std::rotate(launched.entries.begin(), launched.entries.begin() + static_cast<ptrdiff_t>(turn),
              launched.entries.end());
  lane.launched.push_back(std::move(launched));
  if (lane.launched.size() > kMost) lane.launched.erase(lane.launched.begin());
}

// Moves the operations of the certified path among the others.
void LaunchQueue::Spill() {
  for (const CertifiedRun::Record& record : run_.TakeAll()) {
    Op op;
    op.id = record.id;
    op.lane = record.lane;
    op.name = {lanes_[record.lane].lane, record.sequence};
    op.signature = run_.entry(record.entry).signature;
    op.stream = record.stream;
    op.unit = record.unit;
    op.present = record.present;
    op.present_since_ns = record.position < marked_position_ ? marked_ns_ : now_ns_;
    op.issued_ns = op.present_since_ns;
    op.launched = true;
    op.speculative = true;
    ids_.emplace(op.name, op.id);
    ops_.emplace(op.id, std::move(op));
  }
}

}  // namespace phalanx::ordering
