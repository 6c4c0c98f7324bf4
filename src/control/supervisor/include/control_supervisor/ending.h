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
// own. Whether they hear of it shows within the hearing time: OnLost() then confirms it.
//
// Where the control plane replaces workers, one that fails ends nothing by itself: OnNotReplaced()
// or OnLost() says that it does, OnFailuresSettled() that it doesn't.
class Ending {
 public:
  using TimePoint = Clock::time_point;

  struct Orders {
    std::vector<int> signals;          // to every worker, in this order
    std::optional<TimePoint> wake_at;  // call OnTime then; empty: no timer is needed
  };

  // `grace` lies between the stages above. `hearing` is zero where workers never hear of a loss
  // by themselves. A worker that exits with `lost_exit_code` has ended because of a loss elsewhere;
  // negative: there is no such code.
  Ending(Clock::duration grace, Clock::duration hearing, int lost_exit_code, bool replaces = false)
      : grace_(grace), hearing_(hearing), lost_exit_code_(lost_exit_code), replaces_(replaces) {}

  // Returns whether this is the first failure, and one that no signal to us explains. `is_needed`:
  // false of one that only waited for another's place, whose end means nothing once the job has
  // come to a good one.
  bool OnWorkerEnded(const ProcessEnd& end, TimePoint now, bool is_needed = true);
  // A worker that failed is not being replaced.
  void OnNotReplaced(TimePoint now);
  // What has failed so far is being replaced.
  void OnFailuresSettled() {
    unsettled_.reset();
    replaced_ = true;
  }
  // Every rank of the job has come to a good end, without those that have failed so far.
  void OnJobEnded() {
    unsettled_.reset();
    job_ended_ = true;
  }
  // SIGINT, SIGTERM, SIGHUP or SIGQUIT came to us: the job is asked to end.
  void OnEndSignal(int signal, TimePoint now);
  // The workers have been told that the job is lost, whether by one of ours or elsewhere.
  void OnLost(TimePoint now);
  // A worker failed elsewhere; whether ours are told shows within the hearing time.
  void OnFailureElsewhere(TimePoint now);
  // Whoever started us is gone: everything ends at once.
  void OnAbandoned();
  void OnTime(TimePoint now);

  Orders Take();

  bool ending() const { return state_ != State::kRunning; }
  // Where the control plane replaces workers: some have failed here, and whether the job comes to a
  // good end without them isn't known yet.
  bool awaits_others() const {
    return replaces_ && state_ == State::kRunning && !job_ended_ && (unsettled_ || replaced_);
  }
  // The job was lost elsewhere before a worker of ours failed.
  bool lost_elsewhere() const { return lost_; }
  // The code of the first worker that failed on its own; else 128 + the signal that ended us if
  // workers had to be killed for it; else 1 after a loss elsewhere; else 0. Meaningful once all
  // workers have ended.
  int ExitCode() const;

 private:
  enum class State { kRunning, kTold, kTerminating, kKilling };

  void Fail(TimePoint now);
  void Terminate(int signal, TimePoint now);
  void Kill();

  const Clock::duration grace_;
  const Clock::duration hearing_;
  const int lost_exit_code_;
  const bool replaces_;
  State state_ = State::kRunning;
  Orders orders_;
  std::optional<ProcessEnd> first_failure_;
  std::optional<ProcessEnd> unsettled_;  // the last failure of which it isn't known what it means
  TimePoint failed_at_;
  int end_signal_ = 0;
  bool replaced_ = false;
  bool job_ended_ = false;
  bool killed_for_signal_ = false;
  bool lost_ = false;
  bool ended_for_others_ = false;  // a worker exited with lost_exit_code_
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_ENDING_H_
