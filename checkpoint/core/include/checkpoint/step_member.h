// A rank's part of live healing: when its regions may change, and what it still knows of its last
// step when the view changes. Pure.
//
// Regions change only in ApplyNow, in StartCopy, and between RestoreInstead and RegionsRestored.
// The step's inputs are kept from the vote until ApplyNow or Recompute.
#ifndef PHALANX_CHECKPOINT_STEP_MEMBER_H_
#define PHALANX_CHECKPOINT_STEP_MEMBER_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "checkpoint/step_messages.h"

namespace phalanx::checkpoint {

// All of the step's operations on all communicators are complete here. Only while running(), and
// for committed() + 1.
struct StepComplete {
  int64_t step = 0;
};
struct RegionsCopied {  // StartCopy has ended well
  Term term;
  int64_t step = -1;
  uint64_t bytes = 0;
};
struct RegionsRestored {  // all ranks have their regions as after this step, from a checkpoint
  int64_t step = -1;
};
struct RegionsLost {};      // a step could be applied only in part, or its inputs are gone
struct StepMemberAgain {};  // a timer's: repeats what may have been lost
using StepMemberInput =
    std::variant<StepComplete, RegionsCopied, RegionsRestored, RegionsLost, AskStanding, Resolve,
                 CopyRegions, ServeRegions, ResumeSteps, ApplyStep, RollBackSteps, StepMemberAgain>;

struct ApplyNow {  // run the program's apply before the next input
  int64_t step = 0;
};
struct StartCopy {  // from now on the regions are nobody's until RegionsCopied
  Term term;
  int64_t step = -1;
  int from = 0;
};
struct ServeCopy {  // `to` copies the regions from here; they stay as they are meanwhile
  Term term;
  int64_t step = -1;
  int to = 0;
};
struct RestoreInstead {};  // until RegionsRestored the regions are nobody's
struct Recompute {         // the step wasn't committed: its results are void
  int64_t step = 0;
};
using StepMemberOutput = std::variant<StepReport, StepStands, Vote, ApplyNow, StartCopy, ServeCopy,
                                      RestoreInstead, Recompute>;

class StepMember {
 public:
  // `whole`: its regions are the program's first ones, alike on all ranks; otherwise they will be
  // copied or restored.
  StepMember(int rank, bool whole);

  std::vector<StepMemberOutput> Step(const StepMemberInput& input);

  bool running() const { return running_; }
  bool whole() const { return whole_; }
  bool has_voted() const { return ballot_.has_value(); }
  int64_t committed() const { return committed_; }
  const Term& term() const { return term_; }

 private:
  void Handle(const StepComplete& complete);
  void Handle(const RegionsCopied& copied);
  void Handle(const RegionsRestored& restored);
  void Handle(const RegionsLost& lost);
  void Handle(const AskStanding& ask);
  void Handle(const Resolve& resolve);
  void Handle(const CopyRegions& copy);
  void Handle(const ServeRegions& serve);
  void Handle(const ResumeSteps& resume);
  void Handle(const ApplyStep& apply);
  void Handle(const RollBackSteps& roll_back);
  void Handle(const StepMemberAgain& again);

  void Apply(int64_t step);
  void SayVote();

  const int rank_;
  Term term_;
  bool whole_;
  bool running_ = false;
  bool resolved_ = false;  // in this term
  int64_t committed_ = -1;
  std::optional<StepBallot> ballot_;
  std::vector<StepMemberOutput> outputs_;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_STEP_MEMBER_H_
