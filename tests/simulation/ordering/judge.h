// Whether a run did what the contract promises for its program.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_JUDGE_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_JUDGE_H_

#include <cstdint>
#include <string>

#include "program.h"
#include "world.h"

namespace phalanx::ordering::simulation {

// Runs the program and compares with the oracle: what went wrong, or nothing. `result`, if given,
// takes what happened.
std::string Judge(const Program& program, const Options& options, Result* result = nullptr);

// What many runs came to: that nothing fails says little where nothing happens.
struct Tally {
  uint64_t runs = 0;
  uint64_t completed = 0;
  uint64_t cycles = 0;
  uint64_t absent = 0;
  uint64_t mismatches = 0;
  uint64_t device_waits = 0;
  uint64_t behind = 0;  // runs that completed after such a report
  uint64_t certified_launches = 0;
  uint64_t apart = 0;  // completions before all members were there
  uint64_t fences = 0;
};
std::string Describe(const Tally& tally);

// Both modes of a seed's program; a failure names the seed.
std::string JudgeSeed(uint64_t seed, Tally* tally);

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_JUDGE_H_
