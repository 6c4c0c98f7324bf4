// What the launch queue says of itself to its node.
#include <algorithm>
#include <utility>

#include "ordering/launch_queue.h"

namespace phalanx::ordering {

void LaunchQueue::Send(ReportBody body) {
  outputs_.push_back(ToNode{Report{term_, std::move(body)}});
}

void LaunchQueue::ReportPresent(Op* op) {
  if (op->reported || op->ticketed) return;
  op->reported = true;
  Send(Present{op->name, op->signature, op->launched, settings_.rank});
}

void LaunchQueue::ReportPassed() {
  std::vector<std::vector<uint64_t>> incomplete(lanes_.size());
  for (const auto& [id, op] : ops_) incomplete[op.lane].push_back(op.name.sequence);
  Passed passed;
  passed.rank = settings_.rank;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const LaneState& lane = lanes_[i];
    if (!lane.buffers) continue;
    Passed::OfLane of_lane;
    of_lane.lane = lane.lane;
    of_lane.below = incomplete[i].empty() ? lane.next : incomplete[i].front();
    for (size_t at = 1; at <= incomplete[i].size(); ++at) {
      const uint64_t end = at < incomplete[i].size() ? incomplete[i][at] : lane.next;
      for (uint64_t sequence = incomplete[i][at - 1] + 1; sequence < end; ++sequence) {
        of_lane.beyond.push_back(sequence);
      }
    }
    if (of_lane.below == 0 && of_lane.beyond.empty()) continue;
    of_lane.launched = lane.launched;
    passed.lanes.push_back(std::move(of_lane));
  }
  if (!passed.lanes.empty()) Send(std::move(passed));
}

void LaunchQueue::ReportClear() {
  if (certified_ || clear_sent_ || !slots_.clear()) return;
  clear_sent_ = true;
  Send(Clear{});
}

// Once for each operation and term: the sequencer remembers.
void LaunchQueue::ReportLongPresent() {
  if (now_ns_ - marked_ns_ >= settings_.report_ns) {
    // Whatever the run still holds from before the mark has been there all the time since.
    if (!run_.empty() && run_.oldest() < marked_position_) Spill();
    marked_ns_ = now_ns_;
    marked_position_ = run_.launched();
  }
  const bool early = is_early();
  for (auto& [id, op] : ops_) {
    const int64_t patience_ns =
        early && !op.launched ? settings_.report_early_ns : settings_.report_ns;
    if (op.present && now_ns_ - op.present_since_ns >= patience_ns) ReportPresent(&op);
  }
}

void LaunchQueue::ReportStall() {
  bool waits = !ops_.empty() || !run_.empty();
  for (const auto& [index, thread] : threads_) {
    waits = waits || thread.state == ThreadView::State::kWaiting;
  }
  if (!waits || progress() != seen_progress_) {
    seen_progress_ = progress();
    progress_since_ns_ = now_ns_;
  }
  const bool stalled = now_ns_ - progress_since_ns_ >= settings_.stall_ns || HasOverdue();
  if (!stalled || now_ns_ - stalled_ns_ < settings_.stall_ns) return;
  stalled_ns_ = now_ns_;
  Send(Stalled{settings_.rank});
}

// Others may have completed it, and so have nothing to report that would show it to be late.
bool LaunchQueue::IsOverdue(const Op& op) const {
  return certified_ && op.present && !op.launched && !op.ticketed && !Synchronizes(op.signature) &&
         now_ns_ - op.present_since_ns >= settings_.stall_ns;
}

bool LaunchQueue::HasOverdue() const {
  return certified_ && unlaunched_ > 0 &&
         std::any_of(ops_.begin(), ops_.end(),
                     [this](const auto& item) { return IsOverdue(item.second); });
}

RankSnapshot LaunchQueue::TakeSnapshot() {
  Spill();
  RankSnapshot snapshot;
  snapshot.rank = settings_.rank;
  snapshot.progress = progress();
  snapshot.device_held = DeviceIsHeld();
  snapshot.tickets = tickets_seen_;
  for (const auto& [id, op] : ops_) {
    const bool launched = op.launched && !(op.launched_into_hold && snapshot.device_held);
    snapshot.ops.push_back({op.name, op.signature, op.stream, op.unit, op.present, launched,
                            op.call_site, IsOverdue(op), now_ns_ - op.issued_ns, id});
  }
  for (const auto& [index, thread] : threads_) {
    ThreadView view{thread.state, {}, thread.waits.device_wide};

    for (const uint64_t id : thread.waits.ids) {
      const auto found = ops_.find(id);
      if (found != ops_.end()) view.waits_for.push_back(found->second.name);
    }
    snapshot.threads.push_back(std::move(view));
  }
  for (const LaneState& lane : lanes_) snapshot.issued.push_back({lane.lane, lane.next});
  return snapshot;
}

}  // namespace phalanx::ordering
