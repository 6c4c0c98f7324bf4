#include "wait_graph.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace phalanx::ordering {
namespace {

using Line = Explanation::Line;

Line LineOf(int rank, Line::Why why, const OpName& op, const OpView* view) {
  Line line;
  line.rank = rank;
  line.why = why;
  line.op = op;
  if (view != nullptr) {
    line.signature = view->signature;
    line.stream = view->stream;
    line.call_site = view->call_site;
  }
  return line;
}

}  // namespace

WaitGraph::WaitGraph(const Roster& roster, const std::map<int, RankSnapshot>& snapshots)
    : roster_(roster), snapshots_(snapshots) {
  for (const auto& [rank, snapshot] : snapshots) {
    for (const OpView& view : snapshot.ops) {
      ops_.insert(view.name);
      views_.emplace(std::make_pair(rank, view.name), &view);
      streams_[{rank, view.stream}].push_back(&view);
    }
    for (const auto& issued : snapshot.issued) issued_[{rank, issued.lane}] = issued.next;
  }
  stuck_ = ops_;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto op = stuck_.begin(); op != stuck_.end();) {
      const bool can = CanComplete(*op);
      changed = changed || can;
      op = can ? stuck_.erase(op) : std::next(op);
    }
  }
}

const OpView* WaitGraph::Find(int rank, const OpName& op) const {
  const auto found = views_.find({rank, op});
  return found == views_.end() ? nullptr : found->second;
}

bool WaitGraph::IsComplete(const OpName& op, int rank) const {
  const auto issued = issued_.find({rank, op.lane});
  return Find(rank, op) == nullptr && issued != issued_.end() && issued->second > op.sequence;
}

bool WaitGraph::CanComplete(const OpName& op) const {
  const Ranks members = roster_.MembersOf(op.lane);
  return std::all_of(members.begin(), members.end(), [&](int rank) { return CanRun(op, rank); });
}

bool WaitGraph::IsHeld(int rank) const {
  const RankSnapshot& snapshot = snapshots_.at(rank);
  if (!snapshot.device_held) return false;
  return std::any_of(snapshot.threads.begin(), snapshot.threads.end(),
                     [this](const ThreadView& thread) {
                       return thread.device_wide &&
                              std::any_of(thread.waits_for.begin(), thread.waits_for.end(),
                                          [this](const OpName& waited) { return IsStuck(waited); });
                     });
}

// Whether the operation is or can become present and launched on the rank.
bool WaitGraph::CanRun(const OpName& op, int rank) const {
  const OpView* view = Find(rank, op);
  if (view == nullptr) return IsComplete(op, rank) || CanIssue(rank);
  if (!view->launched && IsHeld(rank)) return false;
  if (view->present) return true;
  const auto& before = streams_.at({rank, view->stream});
  return std::none_of(before.begin(), before.end(), [&](const OpView* other) {
    return other->unit < view->unit && IsStuck(other->name);
  });
}

bool WaitGraph::CanIssue(int rank) const {
  const auto& threads = snapshots_.at(rank).threads;
  return std::any_of(threads.begin(), threads.end(), [this](const ThreadView& thread) {
    if (thread.state == ThreadView::State::kOutside) return true;
    return thread.state == ThreadView::State::kWaiting &&
           std::none_of(thread.waits_for.begin(), thread.waits_for.end(),
                        [this](const OpName& waited) { return IsStuck(waited); });
  });
}

std::vector<Line> WaitGraph::ReasonsOf(const OpName& op) const {
  std::vector<Line> lines;
  for (const int rank : roster_.MembersOf(op.lane)) {
    if (CanRun(op, rank)) continue;
    const OpView* view = Find(rank, op);
    const size_t had = lines.size();
    if (view != nullptr) {
      for (const OpView* other : streams_.at({rank, view->stream})) {
        if (other->unit >= view->unit || !IsStuck(other->name)) continue;
        lines.push_back(LineOf(rank, Line::Why::kStream, op, view));
        lines.back().waits_for = other->name;
      }
      if (!view->launched) AddDeviceReasons(rank, *view, &lines);
      continue;
    }
    for (const ThreadView& thread : snapshots_.at(rank).threads) {
      for (const OpName& waited : thread.waits_for) {
        if (thread.state != ThreadView::State::kWaiting || !IsStuck(waited)) continue;
        lines.push_back(LineOf(rank, Line::Why::kHost, op, nullptr));
        lines.back().waits_for = waited;
      }
    }
    if (lines.size() == had) lines.push_back(LineOf(rank, Line::Why::kAbsent, op, nullptr));
  }
  return lines;
}

void WaitGraph::AddDeviceReasons(int rank, const OpView& view, std::vector<Line>* lines) const {
  if (!IsHeld(rank)) return;
  for (const ThreadView& thread : snapshots_.at(rank).threads) {
    if (!thread.device_wide) continue;
    for (const OpName& waited : thread.waits_for) {
      if (!IsStuck(waited)) continue;
      lines->push_back(LineOf(rank, Line::Why::kDevice, view.name, &view));
      lines->back().waits_for = waited;
    }
  }
}

std::vector<Line> WaitGraph::MissingFrom(const OpName& op) const {
  std::vector<Line> lines;
  for (const int rank : roster_.MembersOf(op.lane)) {
    if (Find(rank, op) != nullptr || IsComplete(op, rank)) continue;
    lines.push_back(LineOf(rank, Line::Why::kBehind, op, nullptr));
    const auto issued = issued_.find({rank, op.lane});
    const uint64_t next = issued == issued_.end() ? 0 : issued->second;
    lines.back().behind = op.sequence - next + 1;
  }
  return lines;
}

std::vector<Line> WaitGraph::ShortestCycle() const {
  std::vector<Line> shortest;
  for (const OpName& op : stuck_) {
    std::vector<Line> cycle = CycleThrough(op);
    if (cycle.empty() || (!shortest.empty() && cycle.size() >= shortest.size())) continue;
    shortest = std::move(cycle);
    if (shortest.size() == 1) break;
  }
  return shortest;
}

// Breadth first from `start` back to it.
std::vector<Line> WaitGraph::CycleThrough(const OpName& start) const {
  std::map<OpName, Line> reached_by;
  std::deque<OpName> open = {start};
  while (!open.empty() && !reached_by.contains(start)) {
    const OpName op = open.front();
    open.pop_front();
    for (const Line& line : ReasonsOf(op)) {
      if (!line.waits_for.has_value()) continue;
      if (reached_by.emplace(*line.waits_for, line).second) open.push_back(*line.waits_for);
    }
  }
  std::vector<Line> cycle;
  if (!reached_by.contains(start)) return cycle;
  OpName at = start;
  do {
    cycle.push_back(reached_by.at(at));
    at = cycle.back().op;
  } while (at != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace phalanx::ordering
