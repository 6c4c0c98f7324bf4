// The job's part of steps that are applied live: the pure core of votes between the ranks' bytes.
// Pure as well.
//
// When a view ends, those of its members that live are asked where they stand, while they still
// are in the call that waits for a vote: they return from it once that is decided. Whoever takes a
// lost rank's place is told in the next view, and copies what the others have.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_STEPS_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_STEPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "checkpoint/step_vote.h"

namespace phalanx::control {

class JobSteps {
 public:
  struct ToRank {
    int rank = 0;
    std::string payload;
  };
  // Of the regions, to a rank that has joined.
  struct Copied {
    int rank = 0;
    int from = 0;
    uint64_t bytes = 0;
    Clock::duration duration{};
  };
  // All ranks go on.
  struct Resumed {
    int64_t step = 0;        // from this one
    bool live = false;       // and not from a checkpoint or the first state
    int64_t recomputed = 0;  // steps that somebody had completed, and that weren't committed
    std::vector<Copied> copied;
  };
  struct Outputs {
    std::vector<ToRank> messages;  // to be sent in this order
    std::optional<Resumed> resumed;
    bool copies = false;      // ranks are told to copy
    bool committed = false;   // all have voted for a step
    bool rolls_back = false;  // it is decided now that a checkpoint is to be restored
  };

  // `claim`: more than that of every earlier coordinator of the job.
  explicit JobSteps(uint64_t claim = 0) : coordinator_(claim) {}

  // The view before `next` is over, or another one of its members was lost: `survivors`, of `ranks`
  // in all, are asked, and whatever was decided before is decided anew.
  Outputs Ask(Epoch next, int ranks, const std::set<int>& survivors, Clock::time_point now);
  // All ranks of this view can be told. Without an Ask() before: the job's first one, in which
  // they restore.
  Outputs BeginView(Epoch epoch, int ranks, Clock::time_point now);
  // After rolls_back(): all ranks of the view have what they go on from.
  Outputs Restored(int64_t step, Clock::time_point now);
  // No other view follows.
  void End() { vote_.reset(); }

  // INVALID_ARGUMENT: nothing was done, and the rank must not be listened to any more.
  absl::Status FromRank(int rank, absl::string_view payload, Clock::time_point now,
                        Outputs* outputs);

  // Whether Ask() was called for the view that is to come or that is there.
  bool asked() const { return vote_ != nullptr || rolls_back_; }
  // Whether its ranks restore a checkpoint, as far as it is decided.
  bool rolls_back() const { return rolls_back_; }

 private:
  void BeginVote(Outputs* outputs);
  void Step(const checkpoint::StepVoteInput& input, Outputs* outputs);
  void Tell(const checkpoint::TellRank& tell, Outputs* outputs);
  void OnReport(const checkpoint::StepReport& report, Outputs* outputs);
  void OnStands(const checkpoint::StepStands& stands, Outputs* outputs);
  void TellOfRollBack(const std::set<int>& ranks, Outputs* outputs) const;

  const uint64_t coordinator_;
  uint64_t votes_ = 0;     // that were begun here
  checkpoint::Term term_;  // of the last one
  std::vector<int> ranks_;
  std::unique_ptr<checkpoint::StepVote> vote_;  // null: none, or it has led to a roll-back
  std::set<int> reachable_;
  bool in_view_ = false;
  bool rolls_back_ = false;
  bool live_ = false;  // nobody has restored a checkpoint in this view
  std::optional<int64_t> resumes_at_;
  int64_t most_voted_ = -1;  // by those who report
  struct Copying {
    int from = 0;
    Clock::time_point since;
  };
  std::map<int, Copying> copying_;
  std::vector<Copied> copied_;
  Clock::time_point now_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_STEPS_H_
