#include "checkpoint/step_member.h"

#include <utility>

#include "base/check.h"

namespace phalanx::checkpoint {

StepMember::StepMember(int rank, bool whole) : rank_(rank), whole_(whole) {}

std::vector<StepMemberOutput> StepMember::Step(const StepMemberInput& input) {
  std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void StepMember::Handle(const StepComplete& complete) {
  PHX_CHECK_MSG(running_ && !ballot_.has_value() && complete.step == committed_ + 1,
                "a step was completed out of turn");
  ballot_ = StepBallot{complete.step, term_.epoch};
  SayVote();
}

void StepMember::SayVote() { outputs_.push_back(Vote{term_, rank_, ballot_->step}); }

// From here on nothing that an earlier term says counts, so the report stays true until Resolve.
void StepMember::Handle(const AskStanding& ask) {
  if (ask.term < term_ || (ask.term == term_ && resolved_)) return;
  if (ask.term > term_) resolved_ = false;
  term_ = ask.term;
  running_ = false;
  outputs_.push_back(StepReport{term_, rank_, whole_, committed_, ballot_});
}

void StepMember::Handle(const Resolve& resolve) {
  if (resolve.term != term_ || !whole_ || running_) return;
  if (committed_ == resolve.target - 1 && ballot_.has_value() && ballot_->step == resolve.target) {
    Apply(resolve.target);
  }
  if (committed_ != resolve.target) return;
  resolved_ = true;
  // Within its epoch a completed step stays complete; the operations of an ended one are void.
  if (ballot_.has_value() && ballot_->epoch != term_.epoch) {
    outputs_.push_back(Recompute{ballot_->step});
    ballot_.reset();
  }
  outputs_.push_back(StepStands{term_, rank_, committed_});
}

void StepMember::Handle(const CopyRegions& copy) {
  if (copy.term != term_ || running_) return;
  if (whole_) {  // done already: the answer was lost
    if (committed_ == copy.target) outputs_.push_back(StepStands{term_, rank_, committed_});
    return;
  }
  outputs_.push_back(StartCopy{term_, copy.target, copy.from});
}

void StepMember::Handle(const RegionsCopied& copied) {
  if (copied.term != term_ || whole_) return;
  whole_ = true;
  resolved_ = true;
  committed_ = copied.step;
  outputs_.push_back(StepStands{term_, rank_, committed_, copied.bytes});
}

void StepMember::Handle(const RegionsRestored& restored) {
  PHX_CHECK_MSG(!running_, "regions were restored amid steps");
  whole_ = true;
  committed_ = restored.step;
  ballot_.reset();
}

void StepMember::Handle(const RegionsLost& /*lost*/) {
  whole_ = false;
  running_ = false;
  resolved_ = false;
  ballot_.reset();
}

void StepMember::Handle(const ServeRegions& serve) {
  if (serve.term != term_ || !whole_ || running_ || committed_ != serve.target) return;
  outputs_.push_back(ServeCopy{term_, serve.target, serve.to});
}

// Not before RegionsRestored can anything be asked of it, since nobody goes on before.
void StepMember::Handle(const RollBackSteps& roll_back) {
  if (roll_back.term < term_) return;
  term_ = roll_back.term;
  Handle(RegionsLost{});
  outputs_.push_back(RestoreInstead{});
}

void StepMember::Handle(const ResumeSteps& resume) {
  if (resume.term != term_ || !resolved_ || running_) return;
  running_ = true;
  if (ballot_.has_value()) SayVote();
}

void StepMember::Handle(const ApplyStep& apply) {
  const bool is_due =
      running_ && apply.term == term_ && ballot_.has_value() && ballot_->step == apply.step;
  if (is_due) Apply(apply.step);
}

void StepMember::Apply(int64_t step) {
  outputs_.push_back(ApplyNow{step});
  committed_ = step;
  ballot_.reset();
}

void StepMember::Handle(const StepMemberAgain& /*again*/) {
  if (running_ && ballot_.has_value()) SayVote();
}

}  // namespace phalanx::checkpoint
