#include "membership/voter.h"

#include <utility>

#include "base/check.h"

namespace phalanx::membership {

ToProposer Voter::Handle(const Prepare& prepare, bool* changed) {
  if (prepare.to != state_.id) return NotAVoter{prepare.to, prepare.ballot};
  if (prepare.ballot < state_.promised) {
    return Refused{state_.id, prepare.ballot, state_.promised};
  }
  *changed = prepare.ballot != state_.promised;
  state_.promised = prepare.ballot;
  return Promise{state_.id, prepare.ballot, state_.accepted, state_.record};
}

ToProposer Voter::Handle(const Accept& accept, bool* changed) {
  if (accept.to != state_.id) return NotAVoter{accept.to, accept.ballot};
  if (accept.ballot < state_.promised) {
    return Refused{state_.id, accept.ballot, state_.promised};
  }
  *changed = accept.ballot != state_.accepted;
  state_.promised = accept.ballot;
  state_.accepted = accept.ballot;
  state_.record = accept.record;
  return Accepted{state_.id, accept.ballot};
}

std::vector<VoterOutput> Voter::Step(const VoterInput& input) {
  std::vector<VoterOutput> outputs;
  if (const auto* done = std::get_if<Persisted>(&input)) {
    PHX_CHECK(done->number <= last_persist_);
    if (done->number > persisted_) persisted_ = done->number;
  } else {
    const auto& asked = std::get<Asked>(input);
    bool changed = false;
    ToProposer answer =
        std::visit([&](const auto& message) { return Handle(message, &changed); }, asked.message);
    if (changed) outputs.push_back(Persist{++last_persist_, state_});
    // Also an answer to a repeated question rests on a state that may still be on its way to the
    // disk.
    waiting_.push_back({last_persist_, Answer{asked.link, std::move(answer)}});
  }
  for (; !waiting_.empty() && waiting_.front().number <= persisted_; waiting_.pop_front()) {
    outputs.push_back(std::move(waiting_.front().answer));
  }
  return outputs;
}

}  // namespace phalanx::membership
