#include "simulate/deadlock.h"

#include "phalanx_launch.h"
#include "plain_launch.h"
#include "rank_program.h"

namespace phalanx::simulate {

DeadlockResult SimulateDeadlock(const DeadlockConfig& config) {
  const Layout layout(config);
  PlainLaunch plain(config, layout);
  DeadlockResult result;
  for (uint64_t round = 0; round < config.rounds; ++round) {
    const PlainRound outcome = plain.Run(round);
    ++result.plain.rounds;
    ++result.plain_exact.rounds;
    result.plain.hits += outcome.published ? 1 : 0;
    result.plain_exact.hits += outcome.exact ? 1 : 0;
    if (round < config.phalanx_rounds) result.impossible += outcome.exact ? 1 : 0;
  }
  const PhalanxLaunch phalanx(config, layout);
  for (uint64_t round = 0; round < config.phalanx_rounds; ++round) {
    const PhalanxRound outcome = phalanx.Run(round);
    ++result.phalanx.rounds;
    ++result.explained.rounds;
    result.phalanx.hits += outcome.hung ? 1 : 0;
    result.explained.hits += outcome.explained ? 1 : 0;
    result.collectives += outcome.completed;
    result.tickets += outcome.tickets;
  }
  return result;
}

}  // namespace phalanx::simulate
