// How threads share a channel: the progress token, waiting with it and without it.
#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/channel.h"
#include "engine/engine.h"
#include "plan_cache.h"

namespace phalanx::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// One blocked wait, at most: a lost wake-up costs no more than this.
constexpr Clock::duration kLongestPark = milliseconds(1);
// The same where two sources have to be watched and only one can be slept on.
constexpr Clock::duration kShortPark = microseconds(100);
// Polls of a wire before sleeping on it. With a core for every rank a poll is free and a wake-up
// costs as much as a small message; without, those that poll keep others from sending.
constexpr int kPollsBeforePark = 1000;
constexpr int kPollsWhenOversubscribed = 50;

}  // namespace

// A wait that lasts is told to the launch gate, which explains what nobody can end.
class Channel::LongWait {
 public:
  LongWait(LaunchGate* gate, const Operation* operation) : gate_(gate), operation_(operation) {}
  ~LongWait() {
    if (told_) gate_->HostGoesOn();
  }
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  void LastsUntil(Clock::time_point now) {
    constexpr Clock::duration kLong = milliseconds(10);
    if (gate_ == nullptr || told_) return;
    if (!begun_.has_value()) begun_ = now;
    if (now - *begun_ < kLong) return;
    told_ = true;
    gate_->HostWaits(*operation_);
  }

 private:
  LaunchGate* const gate_;
  const Operation* const operation_;
  std::optional<Clock::time_point> begun_;
  bool told_ = false;
};

void Channel::GiveToken() {
  for (;;) {
    Operation* const finished = std::exchange(finished_, nullptr);
    token_.store(false, std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) > 0) WakeParked();
    SettleFinished(finished);
    // An operation that was put into the inbox while we held the token is nobody's until drained.
    if (!inbox_filled_.load(std::memory_order_seq_cst) || !TryTakeToken()) return;
    Advance();
  }
}

void Channel::SettleFinished(Operation* finished) {
  while (finished != nullptr) {
    Operation* const next = std::exchange(finished->next_, nullptr);
    finished->RunCallbacks();
    finished->Release();
    finished = next;
  }
}

void Channel::Signal() {
  signalled_.store(true, std::memory_order_seq_cst);
  if (spi::Wire* const wire = parked_in_.load(std::memory_order_seq_cst)) wire->WakeUp();
  if (parked_.load(std::memory_order_seq_cst) > 0) WakeParked();
}

void Channel::WakeParked() {
  { const std::lock_guard lock(parking_mutex_); }  // a waiter is before its check or already asleep
  parking_.notify_all();
}

absl::Status Channel::Wait(Operation* operation, Deadline deadline) {
  if (operation->done()) {
    if (inline_habit_.load(std::memory_order_relaxed) < 8) {
      inline_habit_.fetch_add(1, std::memory_order_relaxed);
    }
    return operation->status();
  }
  if (InsideCallback()) {
    return absl::FailedPreconditionError(absl::StrCat(
        operation->ToText(),
        ": waiting inside a completion callback would stall the thread that completes it; wait "
        "outside, or chain with Work::Then"));
  }
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  bool in_time = true;
  absl::Status overdue;
  LongWait wait(engine_->gate(), operation);
  while (in_time && !operation->done()) {
    if (TryTakeToken()) {
      in_time = RunUntilDone(operation, deadline, &wait);
      if (!in_time) overdue = Overdue(*operation, /*holds_token=*/true);
      GiveToken();
    } else {
      in_time = ParkUntilDone(operation, deadline, &wait);
      if (!in_time) overdue = Overdue(*operation, /*holds_token=*/false);
    }
  }
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
  if (inline_habit_.load(std::memory_order_relaxed) < 8) {
    inline_habit_.fetch_add(1, std::memory_order_relaxed);
  }
  return in_time ? operation->status() : overdue;
}

bool Channel::RunUntilDone(Operation* operation, Deadline deadline, LongWait* wait) {
  Clock::duration left = kShortPark;
  while (true) {
    const bool moved = Advance();
    if (operation->done()) return true;
    if (moved) continue;
    // The clock is read only when a wait was in vain: most end before a look at it would.
    WaitForProgress(std::min(left, kLongestPark));
    if (operation->done() || Advance()) continue;
    const Clock::time_point now = Clock::now();
    left = deadline.Left(now);
    if (left == Clock::duration::zero()) return false;
    wait->LastsUntil(now);
  }
}

bool Channel::ParkUntilDone(Operation* operation, Deadline deadline, LongWait* wait) {
  const Clock::time_point now = Clock::now();
  const Clock::duration left = deadline.Left(now);
  if (left == Clock::duration::zero()) return false;
  wait->LastsUntil(now);
  std::unique_lock lock(parking_mutex_);
  parked_.fetch_add(1, std::memory_order_seq_cst);
  parking_.wait_for(lock, std::min(left, kLongestPark),
                    [&] { return operation->done() || !token_.load(std::memory_order_seq_cst); });
  parked_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

void Channel::WaitForProgress(Clock::duration patience) {
  if (running_on_links_ > 0) {
    // Links can't be slept on together with the group's signals.
    patience = std::min(patience, engine_->wires().size() > 1 ? kShortPark : kLongestPark);
  }
  const Operation* const head = collectives_.front();
  if (head != nullptr && head->started_ && head->plan_->uses_group) {
    const Clock::duration bound = running_on_links_ > 0 ? kShortPark : patience;
    if (head->plan_->runners[head->runner_]->WaitOnGroup(std::min(patience, bound))) return;
  }
  if (running_on_links_ > 0) {
    const bool oversubscribed = engine_->oversubscribed();
    if (++idle_turns_ < (oversubscribed ? kPollsWhenOversubscribed : kPollsBeforePark)) {
      if (oversubscribed) std::this_thread::yield();  // the peer that we wait for may need the core
      return;
    }
    spi::Wire* const wire = engine_->wires().back();
    parked_in_.store(wire, std::memory_order_seq_cst);
    if (!signalled_.load(std::memory_order_seq_cst)) wire->Wait(patience);
    parked_in_.store(nullptr, std::memory_order_seq_cst);
    return;
  }
  // What is left is an operation whose stream hasn't reached it, or that isn't launched.
  const bool unlaunched = head != nullptr && head->reached_told_ && attended() &&
                          !head->launched_.load(std::memory_order_acquire);
  if (unlaunched && !signalled_.load(std::memory_order_seq_cst) &&
      engine_->gate()->AwaitLaunch(std::min(patience, kShortPark))) {
    return;
  }
  std::unique_lock lock(parking_mutex_);
  parked_.fetch_add(1, std::memory_order_seq_cst);
  parking_.wait_for(lock, patience, [&] { return signalled_.load(std::memory_order_seq_cst); });
  parked_.fetch_sub(1, std::memory_order_seq_cst);
}

bool Channel::Poll(Operation* operation) {
  if (operation->done()) return true;
  if (TryTakeToken()) {
    Advance();
    GiveToken();
  }
  return operation->done();
}

bool Channel::Drive(Clock::duration patience) {
  if (!TryTakeToken()) return false;
  bool moved = Advance();
  if (!moved && pending() > 0 && patience > Clock::duration::zero() && !attended()) {
    WaitForProgress(patience);
    moved = Advance();
  }
  GiveToken();
  return moved;
}

absl::Status Channel::Overdue(const Operation& operation, bool holds_token) {
  std::string reason;
  if (!holds_token) {
    // Another thread does the work and knows.
  } else if (operation.started_) {
    const PlanRunner& runner = *operation.plan_->runners[operation.runner_];
    std::vector<int> missing = runner.Missing();
    for (int& rank : missing) rank = config_.ranks[static_cast<size_t>(rank)];
    if (!missing.empty()) {
      reason = absl::StrCat(" and waits for rank ", absl::StrJoin(missing, ", "), " (",
                            runner.Describe(), ")");
    }
  } else if (!operation.stream_reached_.load(std::memory_order_acquire)) {
    reason = " and waits for its stream";
  } else if (!operation.launched_.load(std::memory_order_acquire)) {
    reason = " and waits to be launched";
  } else {
    reason = absl::StrCat(" and waits for an earlier operation of its ",
                          operation.request_.key == nullptr ? "communicator" : "key");
  }
  if (LaunchGate* const gate = engine_->gate(); gate != nullptr) {
    const std::string report = gate->Report();
    if (!report.empty()) absl::StrAppend(&reason, " (", report, ")");
  }
  return absl::DeadlineExceededError(
      absl::StrCat(operation.ToText(), " isn't complete in time on rank ",
                   config_.ranks[static_cast<size_t>(config_.group.rank)], reason,
                   "; it stays in flight and its buffers in use"));
}

}  // namespace phalanx::engine
