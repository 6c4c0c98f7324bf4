// Programs from seeds: correct ones, ones that deadlock, ones whose ranks disagree.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_RANDOM_PROGRAM_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_RANDOM_PROGRAM_H_

#include <cstdint>

#include "program.h"
#include "world.h"

namespace phalanx::ordering::simulation {

Program RandomProgram(uint64_t seed);

// Delays, pauses, crashes, bounds and suggested schedules that go with a seed.
Options RandomOptions(const Program& program, uint64_t seed, bool adaptive);

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_RANDOM_PROGRAM_H_
