// The coordinator's part of live healing and shrinking: steps are committed by a vote of all, and
// after a change of the view all ranks stand at the same step before any goes on. Pure.
//
// One object for a claim or an epoch. It begins by asking where all stand, and decides:
// the target is the largest committed step; whoever stands one before it applies it. If all that
// are whole stand at c and voted for c+1 in the same epoch, c+1 is committed: one that is gone may
// have applied it. Joiners copy only after that, from one that has applied the target.
#ifndef PHALANX_CHECKPOINT_STEP_VOTE_H_
#define PHALANX_CHECKPOINT_STEP_VOTE_H_

#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "checkpoint/step_messages.h"

namespace phalanx::checkpoint {

// What survivors' reports decide; none if nobody is whole, or if they contradict each other, which
// needs a rank that broke the rules: roll back then.
std::optional<int64_t> DecideTarget(const std::vector<StepReport>& reports);

struct StepVoteBegins {};  // the first input, once
struct StepVoteAgain {};   // a timer's: repeats what hasn't been answered
using StepVoteInput = std::variant<StepVoteBegins, StepReport, StepStands, Vote, StepVoteAgain>;

using StepOrder =
    std::variant<AskStanding, Resolve, CopyRegions, ServeRegions, ResumeSteps, ApplyStep>;
struct TellRank {
  int rank = 0;
  StepOrder what;
};
struct StepsResume {  // all stand here
  int64_t committed = -1;
};
struct RollBack {};  // live healing is impossible: see DecideTarget
using StepVoteOutput = std::variant<TellRank, StepsResume, RollBack>;

class StepVote {
 public:
  // `members`: the ranks of the view. Losing one ends the epoch, and this object with it.
  StepVote(const Term& term, std::vector<int> members);

  std::vector<StepVoteOutput> Step(const StepVoteInput& input);

 private:
  enum class Phase { kAsking, kResolving, kVoting, kOver };

  void Handle(const StepVoteBegins& begins);
  void Handle(const StepReport& report);
  void Handle(const StepStands& stands);
  void Handle(const Vote& vote);
  void Handle(const StepVoteAgain& again);

  void Conclude();
  void TellJoiners();
  bool IsMember(int rank) const;
  void TellAll(const StepOrder& what);

  const Term term_;
  const std::vector<int> members_;
  Phase phase_ = Phase::kAsking;
  std::map<int, StepReport> reports_;
  int64_t committed_ = -1;  // the target, then what the votes add to it
  std::optional<int> source_;
  std::set<int> standing_;  // at the target
  std::set<int> votes_;     // for committed_ + 1
  std::vector<StepVoteOutput> outputs_;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_STEP_VOTE_H_
