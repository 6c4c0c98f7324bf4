#include "seeds.h"

#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>

#include "absl/strings/numbers.h"

namespace phalanx::simulation {
namespace {

constexpr uint64_t kMostFailures = 10;  // then there is enough to look at

int Usage(const SeedProgram& program) {
  const std::string one = program.name + " SEED         ";
  const std::string below(std::string_view("usage: ").size() + one.size(), ' ');
  std::fprintf(stderr,
               "usage: %s%s\n"
               "       %s --seeds N [FIRST]\n"
               "%stries N seeds from FIRST on (default: a random one)\n",
               one.c_str(), program.replays.c_str(), program.name.c_str(), below.c_str());
  return 2;
}

int Try(const SeedProgram& program, uint64_t count, uint64_t first) {
  const auto begin = std::chrono::steady_clock::now();
  uint64_t failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < kMostFailures; ++seed) {
    const std::string wrong = program.judge(seed);
    if (wrong.empty()) continue;
    ++failures;
    std::printf("%s\n", wrong.c_str());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds from %llu, %llu failures", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(failures));
  if (program.says_time) std::printf(", %.1f s", took.count());
  std::printf("\n%s\n", program.summary().c_str());
  return failures == 0 ? 0 : 1;
}

}  // namespace

int RunSeeds(const SeedProgram& program, int argc, char** argv) {
  uint64_t number = 0;
  if (argc == 2 && absl::SimpleAtoi(argv[1], &number)) return program.replay(number) ? 0 : 1;
  if (argc < 3 || argc > 4 || std::string_view(argv[1]) != "--seeds" ||
      !absl::SimpleAtoi(argv[2], &number)) {
    return Usage(program);
  }
  uint64_t first = std::random_device()();
  if (argc == 4 && !absl::SimpleAtoi(argv[3], &first)) return Usage(program);
  return Try(program, number, first);
}

}  // namespace phalanx::simulation
