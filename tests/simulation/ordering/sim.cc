// `./dev sim`: replays one seed with a trace, or tries many.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "judge.h"
#include "random_program.h"

namespace phalanx::ordering::simulation {
namespace {

int Usage() {
  std::fputs(
      "usage: ordering_sim SEED         replays a seed in both modes, with a trace\n"
      "       ordering_sim --seeds N [FIRST]\n"
      "                                 tries N seeds from FIRST on (default: a random one)\n",
      stderr);
  return 2;
}

int Replay(uint64_t seed) {
  const Program program = RandomProgram(seed);
  std::fputs(Describe(program).c_str(), stdout);
  int failures = 0;
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
    failures += wrong.empty() ? 0 : 1;
  }
  return failures == 0 ? 0 : 1;
}

int Try(uint64_t count, uint64_t first) {
  const auto begin = std::chrono::steady_clock::now();
  uint64_t failures = 0;
  Tally tally;
  for (uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    const std::string wrong = JudgeSeed(seed, &tally);
    if (wrong.empty()) continue;
    ++failures;
    std::printf("%s\n", wrong.c_str());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds from %llu, %llu failures, %.1f s\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(failures), took.count());
  std::printf("%s\n", Describe(tally).c_str());
  return failures == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  uint64_t number = 0;
  if (argc == 2 && absl::SimpleAtoi(argv[1], &number)) return Replay(number);
  if (argc < 3 || std::string_view(argv[1]) != "--seeds" || !absl::SimpleAtoi(argv[2], &number)) {
    return Usage();
  }
  uint64_t first = std::random_device()();
  if (argc == 4 && !absl::SimpleAtoi(argv[3], &first)) return Usage();
  return argc > 4 ? Usage() : Try(number, first);
}

}  // namespace
}  // namespace phalanx::ordering::simulation

int main(int argc, char** argv) { return phalanx::ordering::simulation::Main(argc, argv); }
