#include "ordering/launch_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace phalanx::ordering {

std::vector<QueueOutput> LaunchQueue::Step(const QueueInput& input, int64_t now_ns) {
  now_ns_ = now_ns;
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

uint32_t LaunchQueue::LaneOf(const Lane& lane) {
  const auto [found, is_new] = lane_indices_.emplace(lane, static_cast<uint32_t>(lanes_.size()));
  if (is_new) {
    lanes_.emplace_back();
    lanes_.back().lane = lane;
    fast_ = false;  // its operations aren't foreseen
  }
  return found->second;
}

void LaunchQueue::Handle(const Issue& issue) {
  LaneState& lane = lanes_[issue.lane];
  if (Refuse(issue)) return;
  if (issue.stream >= streams_.size()) streams_.resize(static_cast<size_t>(issue.stream) + 1);
  StreamState& stream = streams_[issue.stream];
  if (!issue.beside) ++stream.unit;

  Op op;
  op.id = issue.id;
  op.name = {lane.lane, lane.next++};
  op.lane = issue.lane;
  op.signature = issue.signature;
  op.stream = issue.stream;
  op.unit = stream.unit;
  op.beside = issue.beside;
  op.issued_ns = now_ns_;
  op.call_site = issue.call_site;
  ids_.emplace(op.name, op.id);
  stream.unlaunched.push_back(op.id);
  ++unlaunched_;
  ++progress_;
  if (!Synchronizes(issue.signature)) lane.buffers = true;
  if (certified_ && lane.scheduled) ++ahead_;
  const auto [entry, is_new] = ops_.emplace(op.id, std::move(op));
  PHX_CHECK_MSG(is_new, "an id was used twice");
  CheckForeseen(entry->second);
  issuing_ = issue.id;
  Advance();
  issuing_ = 0;
}

// A verdict has aborted the operation before it was issued here.
bool LaunchQueue::Refuse(const Issue& issue) {
  LaneState& lane = lanes_[issue.lane];
  const auto found = refused_.find({lane.lane, lane.next});
  if (found == refused_.end()) return false;
  ++lane.next;
  ++progress_;
  if (certified_ && lane.scheduled) ++ahead_;
  outputs_.push_back(Failed{issue.id, found->second});
  Advance();
  return true;
}

void LaunchQueue::Handle(const Reached& reached) {
  const auto found = ops_.find(reached.id);
  if (found == ops_.end()) return;  // aborted meanwhile
  Op& op = found->second;
  op.present = true;
  op.present_since_ns = now_ns_;
  if (!certified_) ReportPresent(&op);
  Advance();
}

void LaunchQueue::Handle(const Completed& completed) {
  const auto found = ops_.find(completed.id);
  if (found == ops_.end()) return;
  const Op& op = found->second;
  const bool owed = !certified_ && !Synchronizes(op.signature);
  if (op.reported && !op.ticketed && !owed) Send(Done{op.name});
  Forget(completed.id);
  ReportClear();
  Advance();
}

void LaunchQueue::Handle(const HostWaits& waits) {
  threads_[waits.thread] = {ThreadView::State::kWaiting, waits};
  ++progress_;
}

void LaunchQueue::Handle(const HostGoesOn& thread) {
  threads_[thread.thread] = {};
  ++progress_;
}

void LaunchQueue::Handle(const HostEnds& thread) {
  threads_.erase(thread.thread);  // as if it had never used the library
  ++progress_;
}

void LaunchQueue::Handle(const Tick& /*tick*/) {
  if (certified_) ReportLongPresent();
  ReportStall();
}

bool LaunchQueue::ReachLaunched(int64_t position) {
  CertifiedRun::Record* record = run_.Find(position);
  if (record == nullptr) return false;
  record->present = true;
  return true;
}

bool LaunchQueue::CompleteLaunched(int64_t position) {
  // Room may be what an operation waits for; Step() looks after that.
  if (unlaunched_ > 0) Spill();
  CertifiedRun::Record* record = run_.Find(position);
  if (record == nullptr) return false;
  record->complete = true;
  slots_.EndSpeculation(record->stream, false);
  run_.Trim();
  ++run_completions_;
  return true;
}

bool LaunchQueue::MustWait(int64_t now_ns) {
  const uint64_t outstanding = ops_.size() + run_.launched() - run_.oldest();
  if (outstanding < settings_.run_ahead) return false;
  if (!certified_) return tickets_open_ > 0;
  if (must_wait_progress_ != progress()) {
    must_wait_progress_ = progress();
    must_wait_since_ns_ = now_ns;
  }
  constexpr int64_t kPatienceNs = 1'000'000;
  return now_ns - must_wait_since_ns_ < kPatienceNs;
}

// --- launching
// --------------------------------------------------------------------------------------

void LaunchQueue::Advance() {
  AdvanceTickets();
  if (certified_) AdvanceSchedule();
  fast_ = certified_ && !diverged_ && refused_.empty() && run_.has_entries() && ahead_ == 0 &&
          unlaunched_ == 0;
}

void LaunchQueue::AdvanceTickets() {
  while (!tickets_.empty()) {
    Op* op = Find(tickets_.front().op);
    // Complete, or launched by speculation: the ticket is for members that still owe it.
    if (op != nullptr && !op->launched) {
      if (!slots_.TicketFits()) return;
      LaunchOp(op, false);
    }
    tickets_.pop_front();
  }
}

void LaunchQueue::AdvanceSchedule() {
  while (ahead_ > 0 && PassesEntry()) {
    ++lanes_[run_.next().lane].cursor;
    --ahead_;
    run_.Advance();
  }
}

// Whether the cursor's entry is done with: launched before, by ticket or now.
bool LaunchQueue::PassesEntry() {
  LaneState& lane = lanes_[run_.next().lane];
  if (lane.cursor == lane.next) return false;  // not issued
  Op* op = Find({lane.lane, lane.cursor});
  if (op == nullptr || op->launched || op->ticketed) {
    KeepLaunched(run_.next().lane);
    lane.first = lane.cursor + 1;
    return true;
  }
  if (HashOf(op->signature) != run_.next().hash) return false;
  if (!slots_.SpeculationFits(op->stream, op->beside)) return false;
  // A deferred operation has left a wait in its place on the user's stream, so it can go to the
  // engine's stream only, and there it would run ahead of what stands before it.
  if (!op->present && !(op->id == issuing_ && IsFirstUnlaunched(*op))) return false;
  LaunchOp(op, true);
  return true;
}

bool LaunchQueue::IsFirstUnlaunched(const Op& op) const {
  return streams_[op.stream].unlaunched.front() == op.id;
}

void LaunchQueue::LaunchOp(Op* op, bool speculative) {
  const bool on_user_stream = speculative && op->id == issuing_ && IsFirstUnlaunched(*op);
  op->launched = true;
  op->speculative = speculative;
  op->launched_into_hold = DeviceIsHeld();
  if (speculative) {
    slots_.BeginSpeculation(op->stream, op->beside);
  } else {
    slots_.BeginTicket();
  }
  std::deque<uint64_t>& unlaunched = streams_[op->stream].unlaunched;
  unlaunched.erase(std::find(unlaunched.begin(), unlaunched.end(), op->id));
  --unlaunched_;
  ++progress_;
  outputs_.push_back(Launch{op->id, on_user_stream, !speculative});
}

// The operation is complete or aborted.
void LaunchQueue::Forget(uint64_t id) {
  const auto found = ops_.find(id);
  const Op& op = found->second;
  if (!op.launched) {
    std::deque<uint64_t>& unlaunched = streams_[op.stream].unlaunched;
    unlaunched.erase(std::find(unlaunched.begin(), unlaunched.end(), id));
    --unlaunched_;
  } else if (op.speculative) {
    slots_.EndSpeculation(op.stream, op.beside);
  } else {
    slots_.EndTicket();
  }
  if (op.ticketed) --tickets_open_;
  ids_.erase(op.name);
  ops_.erase(found);
  ++progress_;
}

bool LaunchQueue::DeviceIsHeld() const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread.second.waits.holds_device; });
}

LaunchQueue::Op* LaunchQueue::Find(const OpName& name) {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : &ops_.at(found->second);
}

}  // namespace phalanx::ordering
