// What ranks and the coordinator say about steps that are applied live, without a roll-back. Any of
// it may be lost, repeated or overtaken.
#ifndef PHALANX_CHECKPOINT_STEP_MESSAGES_H_
#define PHALANX_CHECKPOINT_STEP_MESSAGES_H_

#include <cstdint>
#include <optional>

#include "checkpoint/version.h"

namespace phalanx::checkpoint {

struct StepBallot {
  int64_t step = 0;
  uint64_t epoch = 0;  // in which the step's operations were completed

  bool operator==(const StepBallot&) const = default;
};

// --- ranks to the coordinator

struct StepReport {
  Term term;
  int rank = 0;
  bool whole = false;      // its regions are those of `committed`; a joiner's aren't yet
  int64_t committed = -1;  // the last step applied; -1: none yet
  std::optional<StepBallot> ballot;
};
struct StepStands {  // answers Resolve and CopyRegions
  Term term;
  int rank = 0;
  int64_t committed = -1;
  uint64_t copied_bytes = 0;  // after CopyRegions
};
struct Vote {
  Term term;
  int rank = 0;
  int64_t step = 0;
};

// --- the coordinator to a rank

struct AskStanding {  // the view has changed, or the coordinator: stop and report
  Term term;
};
struct Resolve {  // to those that are whole
  Term term;
  int64_t target = -1;
};
struct CopyRegions {  // to a joiner: `from` stands at `target` and doesn't move before ResumeSteps
  Term term;
  int64_t target = -1;
  int from = 0;
};
struct ServeRegions {  // to `from`: `to` copies from it
  Term term;
  int64_t target = -1;
  int to = 0;
};
struct ResumeSteps {
  Term term;
};
struct ApplyStep {
  Term term;
  int64_t step = 0;
};

struct RollBackSteps {  // live healing is impossible: the regions come from a checkpoint
  Term term;
};

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_STEP_MESSAGES_H_
