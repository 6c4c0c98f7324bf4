// `./dev sim --succession`: replays one seed of the simulation of who coordinates with a trace, or
// tries many.
#include <cstdint>
#include <cstdio>
#include <string>

#include "seeds.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

bool Replay(uint64_t seed) {
  Options options = RandomOptions(seed);
  std::printf("%s\n", Describe(options).c_str());
  options.trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  Tally tally;
  const std::string wrong = World(options).Run(&tally);
  std::printf("%s\n%s\n", Describe(tally).c_str(),
              wrong.empty() ? "as it should be" : wrong.c_str());
  return wrong.empty();
}

int Main(int argc, char** argv) {
  Tally tally;
  return phalanx::simulation::RunSeeds(
      {.name = "succession_sim",
       .replays = "replays a seed, with a trace",
       .replay = Replay,
       .judge = [&tally](uint64_t seed) { return JudgeSeed(seed, &tally); },
       .summary = [&tally] { return Describe(tally); }},
      argc, argv);
}

}  // namespace
}  // namespace phalanx::membership::simulation

int main(int argc, char** argv) { return phalanx::membership::simulation::Main(argc, argv); }
