#include "judge.h"

#include "absl/strings/str_cat.h"

namespace phalanx::checkpoint::simulation {

std::string Describe(const Tally& tally) {
  const CommitTally& commit = tally.commit;
  const VoteTally& vote = tally.vote;
  return absl::StrCat(
      "saving: ", commit.commits, " commits (", commit.adopted,
      " begun under an earlier coordinator), ", commit.abandoned, " abandoned, ", commit.skips,
      " skips by a rank, ", commit.views, " views, ", commit.coordinators, " coordinators lost, ",
      commit.unknown, " writes unknown, ", commit.restores, " restores (", commit.initial,
      " of the first state, ", commit.older, " of an older version), ", commit.corrupt,
      " copies found corrupt, ", commit.repaired, " made again, ", commit.lost,
      " versions lost beyond the promise, ", commit.ended, " runs ended by it\n",
      "steps: ", vote.steps, " applied, ", vote.views, " views, ", vote.coordinators,
      " coordinators lost, ", vote.finished_by_survivors, " committed by survivors' votes, ",
      vote.recomputed, " computed again, ", vote.copies, " copies to joiners, ", vote.ended,
      " runs with nobody left");
}

std::string JudgeSeed(uint64_t seed, const Trace& trace, Tally* tally) {
  std::string wrong = CommitWorld(seed, trace).Run(&tally->commit);
  if (trace) trace("--- steps applied live");
  const std::string wrong_vote = VoteWorld(seed, trace).Run(&tally->vote);
  if (wrong.empty()) wrong = wrong_vote;
  if (wrong.empty()) return "";
  return absl::StrCat("seed ", seed, ": ", wrong, "; replay: ./dev sim --checkpoint ", seed);
}

}  // namespace phalanx::checkpoint::simulation
