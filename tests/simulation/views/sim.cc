// `./dev sim --views`: replays one seed of the simulation of views with a trace, or tries many.
#include <cstdint>
#include <cstdio>
#include <string>

#include "seeds.h"
#include "world.h"

namespace phalanx::control::simulation {
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
      {.name = "views_sim",
       .replays = "replays a seed, with a trace",
       .replay = Replay,
       .judge = [&tally](uint64_t seed) { return JudgeSeed(seed, &tally); },
       .summary = [&tally] { return Describe(tally); }},
      argc, argv);
}

}  // namespace
}  // namespace phalanx::control::simulation

int main(int argc, char** argv) { return phalanx::control::simulation::Main(argc, argv); }
