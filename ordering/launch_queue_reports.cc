// What the launch queue says of itself to its node.
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
  for (auto& [id, op] : ops_) {
    if (op.present && now_ns_ - op.present_since_ns >= settings_.report_ns) ReportPresent(&op);
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
  } else if (now_ns_ - progress_since_ns_ >= settings_.stall_ns) {
    progress_since_ns_ = now_ns_;
    Send(Stalled{settings_.rank});
  }
}

RankSnapshot LaunchQueue::TakeSnapshot() {
  Spill();
  RankSnapshot snapshot;
  snapshot.rank = settings_.rank;
  snapshot.progress = progress();
  snapshot.device_held = DeviceIsHeld();
  for (const auto& [id, op] : ops_) {
    const bool launched = op.launched && !(op.launched_into_hold && snapshot.device_held);
    snapshot.ops.push_back(
        {op.name, op.signature, op.stream, op.unit, op.present, launched, op.call_site});
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
