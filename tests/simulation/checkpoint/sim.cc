// `./dev sim --checkpoint`: replays one seed with a trace, or tries many.
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "judge.h"

namespace phalanx::checkpoint::simulation {
namespace {

int Usage() {
  std::fputs(
      "usage: checkpoint_sim SEED         replays a seed with a trace\n"
      "       checkpoint_sim --seeds N [FIRST]\n"
      "                                   tries N seeds from FIRST on (default: a random one)\n",
      stderr);
  return 2;
}

int Replay(uint64_t seed) {
  Tally tally;
  const std::string wrong = JudgeSeed(
      seed, [](const std::string& line) { std::printf("%s\n", line.c_str()); }, &tally);
  std::printf("%s\n%s\n", Describe(tally).c_str(),
              wrong.empty() ? "as it should be" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int Try(uint64_t count, uint64_t first) {
  uint64_t failures = 0;
  Tally tally;
  for (uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    const std::string wrong = JudgeSeed(seed, nullptr, &tally);
    if (wrong.empty()) continue;
    ++failures;
    std::printf("%s\n", wrong.c_str());
  }
  std::printf("%llu seeds from %llu, %llu failures\n%s\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failures),
              Describe(tally).c_str());
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
}  // namespace phalanx::checkpoint::simulation

int main(int argc, char** argv) { return phalanx::checkpoint::simulation::Main(argc, argv); }
