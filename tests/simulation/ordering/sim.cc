// `./dev sim`: replays one seed with a trace, or tries many.
#include <cstdint>
#include <cstdio>
#include <string>

#include "judge.h"
#include "random_program.h"
#include "seeds.h"

namespace phalanx::ordering::simulation {
namespace {

bool Replay(uint64_t seed) {
  const Program program = RandomProgram(seed);
  std::fputs(Describe(program).c_str(), stdout);
  bool good = true;
  for (const bool adaptive : {false, true}) {
    std::printf("--- %s\n", adaptive ? "adaptive" : "strict");
    Options options = RandomOptions(program, seed, adaptive);
    options.trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
    Result result;
    const std::string wrong = Judge(program, options, &result);
    if (result.completed) std::printf("completed\n");
    if (result.verdict.has_value()) {
      std::printf("%s", ordering::Describe(*result.verdict).c_str());
    }
    std::printf("%s\n", wrong.empty() ? "as it should be" : wrong.c_str());
    good &= wrong.empty();
  }
  return good;
}

int Main(int argc, char** argv) {
  Tally tally;
  return phalanx::simulation::RunSeeds(
      {.name = "ordering_sim",
       .replays = "replays a seed in both modes, with a trace",
       .replay = Replay,
       .judge = [&tally](uint64_t seed) { return JudgeSeed(seed, &tally); },
       .summary = [&tally] { return Describe(tally); }},
      argc, argv);
}

}  // namespace
}  // namespace phalanx::ordering::simulation

int main(int argc, char** argv) { return phalanx::ordering::simulation::Main(argc, argv); }
