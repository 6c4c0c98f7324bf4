#include "worker_watch.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace phalanx::control {
namespace {

// Of a worker that beats: heard within this time, it isn't looked at.
constexpr Clock::duration kLookAfter = std::chrono::milliseconds(250);
constexpr Clock::duration kRepeat = std::chrono::seconds(1);

}  // namespace

WorkerWatch::WorkerWatch(std::function<ProcessState(int pid)> state_of)
    : state_of_(std::move(state_of)),
      suspect_after_(membership::SuspicionSettings{}.suspect_after),
      suspicion_({suspect_after_, kTickInterval}) {}

void WorkerWatch::set_suspect_after(Clock::duration suspect_after) {
  suspect_after_ = suspect_after;
  suspicion_.set_suspect_after(suspect_after);
}

void WorkerWatch::Watch(uint64_t worker, int pid, TimePoint now) {
  workers_.emplace(worker, Worker{.pid = pid});
  suspicion_.Watch(worker, now);
}

void WorkerWatch::Forget(uint64_t worker) {
  workers_.erase(worker);
  suspicion_.Forget(worker);
}

void WorkerWatch::StopsBeating(uint64_t worker) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.beats = false;
}

std::optional<WorkerWatch::Awake> WorkerWatch::Hear(uint64_t worker, TimePoint now) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return std::nullopt;
  found->second.beats = true;
  return HearFrom(worker, found->second, now);
}

std::optional<WorkerWatch::Awake> WorkerWatch::HearFrom(uint64_t id, Worker& worker,
                                                        TimePoint now) {
  worker.stopped_since.reset();
  worker.told_starved = false;
  const std::optional<Clock::duration> silent_for = suspicion_.Hear(id, now);
  if (!std::exchange(worker.told_at, std::nullopt).has_value()) return std::nullopt;
  return Awake{id, silent_for.value_or(Clock::duration::zero())};
}

WorkerWatch::Findings WorkerWatch::Tick(TimePoint now) {
  suspicion_.Tick(now);
  Findings findings;
  for (auto& [id, worker] : workers_) Look(id, worker, now, &findings);
  return findings;
}

void WorkerWatch::Look(uint64_t id, Worker& worker, TimePoint now, Findings* findings) {
  const Clock::duration silent_for = suspicion_.SilentFor(id, now);
  if (worker.beats && silent_for < kLookAfter) return;
  if (state_of_(worker.pid) != ProcessState::kStopped) {
    worker.stopped_since.reset();
    if (!worker.beats) {
      if (const std::optional<Awake> awake = HearFrom(id, worker, now)) {
        findings->awake.push_back(*awake);
      }
    } else if (silent_for >= kStarvedAfter && !std::exchange(worker.told_starved, true)) {
      findings->starved.push_back(id);
    }
    return;
  }
  if (!worker.stopped_since.has_value()) worker.stopped_since = now;
  const bool is_frozen =
      suspicion_.IsSuspect(id) && now - *worker.stopped_since >= suspect_after_ / 2;
  if (!is_frozen || (worker.told_at.has_value() && now - *worker.told_at < kRepeat)) return;
  worker.told_at = now;
  const double seconds = std::chrono::duration<double>(silent_for).count();
  findings->silent.push_back(
      {id, absl::StrFormat("is stopped (SIGSTOP?) and silent for %.1f s", seconds)});
}

}  // namespace phalanx::control
