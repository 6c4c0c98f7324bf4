#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace phalanx::stress {
namespace {

constexpr int kMaxIterations = 100'000;
constexpr double kCloseEnough = 0.7;     // of the time asked for
constexpr double kFastestGrowth = 16.0;  // of the iterations, from one loop to the next

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double TimeLoop(Peer& peer, int iterations) {
  peer.Maximum(0);  // all start together
  const double start = Seconds();
  for (int i = 0; i < iterations; ++i) peer.AllReduce();
  return Seconds() - start;
}

struct Loop {
  int iterations = 1;
  double seconds = 0;  // on the slowest rank
};

// Runs ever longer loops, all but the last of them warm-up, until one takes about as long as asked
// for. Ranks agree on every number, since all must run the same.
Loop TimeLongEnough(Peer& peer, const Sweep& sweep) {
  Loop loop;
  for (;;) {
    loop.seconds = peer.Maximum(TimeLoop(peer, loop.iterations));
    const bool long_enough = loop.seconds >= sweep.loop_seconds * kCloseEnough &&
                             loop.iterations >= sweep.min_iterations;
    if (peer.FromRankZero(long_enough || loop.iterations == kMaxIterations ? 1 : 0) > 0)
      return loop;
    const double wanted = sweep.loop_seconds / loop.seconds * loop.iterations;
    const double fastest_growth = kFastestGrowth * loop.iterations;
    loop.iterations = static_cast<int>(peer.FromRankZero(
        std::clamp(std::min(wanted, fastest_growth),
                   static_cast<double>(std::max(sweep.min_iterations, loop.iterations + 1)),
                   double{kMaxIterations})));
  }
}

// Every rank gives small whole numbers that differ by rank and place, so that the sum is exact.
size_t CountWrong(Peer& peer, float* data, size_t count) {
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 64 + peer.rank());
  peer.AllReduce();
  const int ranks = peer.size();
  const int sum_of_ranks = ranks * (ranks - 1) / 2;
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (data[i] != static_cast<float>(i % 64) * ranks + sum_of_ranks) ++wrong;
  }
  return static_cast<size_t>(peer.Maximum(static_cast<double>(wrong)));
}

}  // namespace

const char* Flag(int argc, char** argv, const char* flag, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return argv[i + 1];
  }
  return otherwise;
}

bool ParseSweep(int argc, char** argv, Sweep* sweep) {
  const auto parse = [&](const char* flag, double otherwise) {
    const char* text = Flag(argc, argv, flag, nullptr);
    if (text == nullptr) return otherwise;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    return *end == '\0' ? value : 0.0;
  };
  sweep->min_bytes = static_cast<size_t>(parse("--min", static_cast<double>(sweep->min_bytes)));
  sweep->max_bytes = static_cast<size_t>(parse("--max", static_cast<double>(sweep->max_bytes)));
  sweep->factor = static_cast<size_t>(parse("--factor", static_cast<double>(sweep->factor)));
  sweep->loop_seconds = parse("--loop-ms", sweep->loop_seconds * 1e3) / 1e3;
  return sweep->min_bytes >= sizeof(float) && sweep->max_bytes >= sweep->min_bytes &&
         sweep->factor >= 2 && sweep->loop_seconds > 0;
}

void MeasureAllReduce(Peer& peer, const Sweep& sweep) {
  std::vector<float> data(sweep.max_bytes / sizeof(float));
  for (size_t bytes = sweep.min_bytes; bytes <= sweep.max_bytes; bytes *= sweep.factor) {
    const size_t count = bytes / sizeof(float);
    peer.Prepare(data.data(), count);
    const size_t wrong = CountWrong(peer, data.data(), count);
    // Zeros stay zeros; anything else would grow to infinity over the iterations.
    std::fill(data.begin(), data.end(), 0.0F);
    const Loop loop = TimeLongEnough(peer, sweep);
    if (peer.rank() != 0) continue;
    std::printf(
        "{\"ranks\": %d, \"bytes\": %zu, \"microseconds\": %.4f, \"iterations\": %d, "
        "\"wrong\": %zu}\n",
        peer.size(), bytes, loop.seconds / loop.iterations * 1e6, loop.iterations, wrong);
    std::fflush(stdout);
  }
}

}  // namespace phalanx::stress
