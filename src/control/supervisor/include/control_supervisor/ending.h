// How a job ends: who is signalled when, and with what code the launcher exits. Pure.
#ifndef PHALANX_CONTROL_SUPERVISOR_ENDING_H_
#define PHALANX_CONTROL_SUPERVISOR_ENDING_H_

#include <optional>
#include <vector>

#include "base/deadline.h"
#include "control_supervisor/process_end.h"

namespace phalanx::control {

// One job, or one node's part of it. Feed it what happens; after each call, Take() what to do.
//
//   running ──failure──▶ told ──grace──▶ terminating ──grace──▶ killing
//      └──────signal──────────────────────▲        second signal ──▲
//
// `told` gives workers that heard of the loss through the control plane the time to leave on their
// own; where they can't hear of it, it is skipped.
class Ending {
 public:
  using TimePoint = Clock::time_point;

  struct Orders {
    std::vector<int> signals;          // to every worker, in this order
    std::optional<TimePoint> wake_at;  // call OnTime then; empty: no timer is needed
  };

  explicit Ending(Clock::duration grace) : grace_(grace) {}

  // `told`: whether the other workers hear of a loss by themselves.
  void OnWorkerEnded(int rank, const ProcessEnd& end, bool told, TimePoint now);
  // SIGINT, SIGTERM, SIGHUP or SIGQUIT came to us: the job is asked to end.
  void OnEndSignal(int signal, TimePoint now);
  // The job is over for a reason outside this node. `told` as above.
  void OnLost(bool told, TimePoint now);
  void OnTime(TimePoint now);

  Orders Take();

  bool ending() const { return state_ != State::kRunning; }
  // The first rank that failed on its own, -1 while none has.
  int first_failed_rank() const { return first_failed_rank_; }
  // The code of that rank; else 128 + the signal that ended us if workers had to be killed for it;
  // else 1 after OnLost; else 0. Meaningful once all workers have ended.
  int ExitCode() const;

 private:
  enum class State { kRunning, kTold, kTerminating, kKilling };

  void Begin(bool told, TimePoint now);
  void Terminate(int signal, TimePoint now);
  void Kill();

  const Clock::duration grace_;
  State state_ = State::kRunning;
  Orders orders_;
  std::optional<ProcessEnd> first_failure_;
  int first_failed_rank_ = -1;
  int end_signal_ = 0;
  bool killed_for_signal_ = false;
  bool lost_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_ENDING_H_
