// Seeds of both worlds, judged.
#ifndef PHALANX_TESTS_SIMULATION_CHECKPOINT_JUDGE_H_
#define PHALANX_TESTS_SIMULATION_CHECKPOINT_JUDGE_H_

#include <cstdint>
#include <string>

#include "commit_world.h"
#include "vote_world.h"

namespace phalanx::checkpoint::simulation {

struct Tally {
  CommitTally commit;
  VoteTally vote;
};
std::string Describe(const Tally& tally);

// Both worlds of a seed; a failure names the seed and how to replay it.
std::string JudgeSeed(uint64_t seed, const Trace& trace, Tally* tally);

}  // namespace phalanx::checkpoint::simulation

#endif  // PHALANX_TESTS_SIMULATION_CHECKPOINT_JUDGE_H_
