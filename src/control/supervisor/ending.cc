#include "control_supervisor/ending.h"

#include <csignal>
#include <utility>

namespace phalanx::control {

void Ending::OnWorkerEnded(int rank, const ProcessEnd& end, bool told, TimePoint now) {
  if (end.Succeeded()) return;
  if (state_ == State::kKilling && end.by_signal && end.value == SIGKILL) {
    killed_for_signal_ = killed_for_signal_ || end_signal_ != 0;
    return;
  }
  // What fails after the job was lost elsewhere fails because of it.
  if (!first_failure_ && !lost_) {
    first_failure_ = end;
    first_failed_rank_ = rank;
  }
  if (state_ == State::kRunning) Begin(told, now);
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

void Ending::OnLost(bool told, TimePoint now) {
  if (state_ != State::kRunning) return;
  lost_ = true;
  Begin(told, now);
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
  if (killed_for_signal_) return 128 + end_signal_;
  return lost_ ? 1 : 0;
}

void Ending::Begin(bool told, TimePoint now) {
  if (!told) return Terminate(SIGTERM, now);
  state_ = State::kTold;
  orders_.wake_at = now + grace_;
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
