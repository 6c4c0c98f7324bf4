// `./dev sim --register`: replays one seed of the register's simulation with a trace, or tries
// many.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "world.h"

namespace phalanx::membership::simulation {
namespace {

int Usage() {
  std::fputs(
      "usage: register_sim SEED         replays a seed, with a trace\n"
      "       register_sim --seeds N [FIRST]\n"
      "                                 tries N seeds from FIRST on (default: a random one)\n",
      stderr);
  return 2;
}

int Replay(uint64_t seed) {
  Options options = RandomOptions(seed);
  std::printf("%s\n", Describe(options).c_str());
  options.trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  Tally tally;
  const std::string wrong = World(options).Run(&tally);
  std::printf("%s\n%s\n", Describe(tally).c_str(),
              wrong.empty() ? "as it should be" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
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
}  // namespace phalanx::membership::simulation

int main(int argc, char** argv) { return phalanx::membership::simulation::Main(argc, argv); }
