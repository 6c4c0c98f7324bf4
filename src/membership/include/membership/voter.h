// One voter of the register. Pure: the shell owns the log, the clock and the links.
//
// The shell serialises the calls, performs the outputs in their order, and keeps one rule: it feeds
// Persisted only when the state is on the disk. Nothing that rests on a state leaves before that.
#ifndef PHALANX_MEMBERSHIP_VOTER_H_
#define PHALANX_MEMBERSHIP_VOTER_H_

#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include "membership/register.h"

namespace phalanx::membership {

// All that a voter must not forget; the log holds the newest.
struct VoterState {
  VoterId id;
  Ballot promised;   // takes part in no lower one
  Ballot accepted;   // round 0: nothing
  RecordPtr record;  // null: nothing
};

// What can happen. `link` is the shell's name for where the answer goes.
struct Asked {
  uint64_t link = 0;
  ToVoter message;
};
struct Persisted {
  uint64_t number = 0;  // and all before it
};
using VoterInput = std::variant<Asked, Persisted>;

// What is to be done.
struct Persist {
  uint64_t number = 0;  // from 1, rising by one
  VoterState state;  // replaces what the log held; a shell may skip those that a newer one replaces
};
struct Answer {
  uint64_t link = 0;
  ToProposer message;
};
using VoterOutput = std::variant<Persist, Answer>;

class Voter {
 public:
  // `state`: what the log holds. For a new log, a state with a new random `id` and nothing else,
  // which must be on the disk before the id is told to anybody. A log that is lost or unreadable is
  // a new log: the id of the old one is never used again.
  explicit Voter(VoterState state) : state_(std::move(state)) {}

  // If the log can't be written, the shell ends the voter; there is no input for it.
  std::vector<VoterOutput> Step(const VoterInput& input);

  // Perhaps not on the disk yet.
  const VoterState& state() const { return state_; }

 private:
  struct Waiting {
    uint64_t number = 0;  // goes when this one is persisted
    Answer answer;
  };

  ToProposer Handle(const Prepare& prepare, bool* changed);
  ToProposer Handle(const Accept& accept, bool* changed);

  VoterState state_;
  uint64_t last_persist_ = 0;
  uint64_t persisted_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace phalanx::membership

#endif  // PHALANX_MEMBERSHIP_VOTER_H_
