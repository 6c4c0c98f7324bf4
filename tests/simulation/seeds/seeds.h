// The main program of a simulation whose runs are made of a seed: replays one seed with a trace, or
// tries many and says which failed.
#ifndef PHALANX_TESTS_SIMULATION_SEEDS_SEEDS_H_
#define PHALANX_TESTS_SIMULATION_SEEDS_SEEDS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace phalanx::simulation {

struct SeedProgram {
  std::string name;
  std::string replays;  // for the usage: "replays a seed, with a trace"
  // Prints everything about one seed; whether all was as it should be.
  std::function<bool(uint64_t seed)> replay;
  // Runs a seed: what went wrong, naming the seed, or nothing.
  std::function<std::string(uint64_t seed)> judge;
  std::function<std::string()> summary;  // of all that were judged
  bool says_time = true;                 // without, the same seeds print the same
};

// What main() returns: 0 if all was as it should be, 1 if not, 2 for arguments that are none.
int RunSeeds(const SeedProgram& program, int argc, char** argv);

}  // namespace phalanx::simulation

#endif  // PHALANX_TESTS_SIMULATION_SEEDS_SEEDS_H_
