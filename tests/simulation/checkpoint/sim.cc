// `./dev sim --checkpoint`: replays one seed with a trace, or tries many.
#include <cstdint>
#include <cstdio>
#include <string>

#include "judge.h"
#include "seeds.h"

namespace phalanx::checkpoint::simulation {
namespace {

bool Replay(uint64_t seed) {
  Tally tally;
  const std::string wrong = JudgeSeed(
      seed, [](const std::string& line) { std::printf("%s\n", line.c_str()); }, &tally);
  std::printf("%s\n%s\n", Describe(tally).c_str(),
              wrong.empty() ? "as it should be" : wrong.c_str());
  return wrong.empty();
}

int Main(int argc, char** argv) {
  Tally tally;
  return phalanx::simulation::RunSeeds(
      {.name = "checkpoint_sim",
       .replays = "replays a seed with a trace",
       .replay = Replay,
       .judge = [&tally](uint64_t seed) { return JudgeSeed(seed, nullptr, &tally); },
       .summary = [&tally] { return Describe(tally); },
       .says_time = false},
      argc, argv);
}

}  // namespace
}  // namespace phalanx::checkpoint::simulation

int main(int argc, char** argv) { return phalanx::checkpoint::simulation::Main(argc, argv); }
