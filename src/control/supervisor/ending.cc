#include "control_supervisor/ending.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace phalanx::control {

bool Ending::OnWorkerEnded(const ProcessEnd& end, TimePoint now, bool is_needed) {
  if (end.Succeeded() || (job_ended_ && !is_needed)) return false;
  if (!end.by_signal && end.value == lost_exit_code_) {
    // The failure itself comes from another worker, maybe later.
    ended_for_others_ = true;
    if (state_ == State::kRunning) Fail(now);
    if (state_ == State::kTold) orders_.wake_at = failed_at_ + grace_;
    return false;
  }
  if (state_ == State::kKilling && end.by_signal && end.value == SIGKILL) {
    killed_for_signal_ = killed_for_signal_ || end_signal_ != 0;
    return false;
  }
  if (replaces_ && state_ == State::kRunning) {
    unsettled_ = end;
    return false;
  }
  // What fails after the job was lost elsewhere fails because of it.
  if (first_failure_ || lost_) return false;
  first_failure_ = end;
  if (state_ == State::kRunning) Fail(now);
  return end_signal_ == 0;
}

void Ending::OnNotReplaced(TimePoint now) {
  if (state_ != State::kRunning) return;
  first_failure_ = std::exchange(unsettled_, std::nullopt);
  Fail(now);
}

void Ending::OnEndSignal(int signal, TimePoint now) {
  switch (state_) {
    case State::kRunning:
    case State::kTold:
      if (end_signal_ == 0) end_signal_ = signal;
      return Terminate(signal, now);
    case State::kTerminating:
    case State::kKilling:
      if (end_signal_ == 0) end_signal_ = signal;
      return Kill();
  }
}

void Ending::OnLost(TimePoint now) {
  if (state_ == State::kRunning) {
    first_failure_ = std::exchange(unsettled_, std::nullopt);
    lost_ = !first_failure_;
    failed_at_ = now;
    state_ = State::kTold;
  }
  if (state_ == State::kTold) orders_.wake_at = failed_at_ + grace_;
}

void Ending::OnFailureElsewhere(TimePoint now) {
  if (state_ != State::kRunning) return;
  lost_ = true;
  Fail(now);
}

void Ending::OnAbandoned() {
  if (state_ == State::kRunning) lost_ = true;
  Kill();
}

void Ending::OnTime(TimePoint now) {
  if (!orders_.wake_at || now < *orders_.wake_at) return;
  switch (state_) {
    case State::kRunning:
    case State::kKilling:
      return;
    case State::kTold:
      return Terminate(SIGTERM, now);
    case State::kTerminating:
      return Kill();
  }
}

Ending::Orders Ending::Take() {
  Orders orders = orders_;
  orders_.signals.clear();
  return orders;
}

int Ending::ExitCode() const {
  if (first_failure_) return first_failure_->ExitCode();
  if (unsettled_) return unsettled_->ExitCode();
  if (killed_for_signal_) return 128 + end_signal_;
  return lost_ || ended_for_others_ ? 1 : 0;
}

void Ending::Fail(TimePoint now) {
  failed_at_ = now;
  if (hearing_ == Clock::duration::zero()) return Terminate(SIGTERM, now);
  state_ = State::kTold;
  orders_.wake_at = now + std::min(hearing_, grace_);
}

void Ending::Terminate(int signal, TimePoint now) {
  state_ = State::kTerminating;
  orders_.signals.push_back(signal);
  orders_.signals.push_back(SIGCONT);  // a stopped process would not see it
  orders_.wake_at = now + grace_;
}

void Ending::Kill() {
  state_ = State::kKilling;
  orders_.signals.push_back(SIGKILL);
  orders_.wake_at.reset();
}

}  // namespace phalanx::control
