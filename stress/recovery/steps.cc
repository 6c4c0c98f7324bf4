// A program that works in steps and saves after each, for stress/recovery/cost.py: `saving_steps
// BYTES STEP_MS WINDOWS`. A rank with a state of so many bytes makes windows of ten steps that take
// so long by themselves, in each of three ways, in an order drawn anew for each round: "none" saves
// nothing, "blocking" calls Checkpoint() after each step, "overlapped" begins it there and ends it
// after the next step's arithmetic. What it prints, a line for each window: `window_us WAY T`.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSteps = 10;  // of a window

enum class Way { kNone, kBlocking, kOverlapped };
constexpr Way kWays[] = {Way::kNone, Way::kBlocking, Way::kOverlapped};

const char* Name(Way way) {
  return way == Way::kNone ? "none" : way == Way::kBlocking ? "blocking" : "overlapped";
}

// Needs nothing but its core.
uint64_t Compute(int64_t rounds) {
  uint64_t value = 1;
  for (int64_t i = 0; i < rounds; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}

class Steps {
 public:
  Steps(size_t bytes, int step_ms, int windows)
      : state_(bytes, 'a'), rounds_(RoundsOf(step_ms)), windows_(windows) {}

  absl::Status Run(phalanx::View& view) {
    regions_ = {{"state", state_.data(), state_.size()}};
    absl::StatusOr<int64_t> step = view.Restore(regions_);
    if (!step.ok()) return step.status();
    std::mt19937 random(1);
    for (int window = -1; window < windows_; ++window) {
      std::vector<Way> ways(std::begin(kWays), std::end(kWays));
      std::shuffle(ways.begin(), ways.end(), random);
      for (const Way way : ways) {
        const Clock::time_point begin = Clock::now();
        if (const absl::Status status = Window(view, way, &*step); !status.ok()) return status;
        if (window < 0) continue;  // the rooms' pages may still be taken
        std::printf("window_us %s %lld\n", Name(way),
                    static_cast<long long>(
                        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin)
                            .count()));
      }
    }
    return absl::OkStatus();
  }

 private:
  static int64_t RoundsOf(int step_ms) {
    constexpr int64_t kTrial = 100'000'000;
    const Clock::time_point begin = Clock::now();
    volatile uint64_t sink = Compute(kTrial);
    static_cast<void>(sink);
    const double trial_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    return static_cast<int64_t>(static_cast<double>(kTrial) * step_ms / trial_ms);
  }

  absl::Status Window(phalanx::View& view, Way way, int64_t* step) {
    phalanx::CheckpointCopy copy;
    for (int i = 0; i < kSteps; ++i, ++*step) {
      const uint64_t value = Compute(rounds_);
      if (const absl::Status status = copy.Wait(); !status.ok()) return status;
      state_[value % state_.size()] = 'c';  // the update
      if (way == Way::kNone) continue;
      copy = view.BeginCheckpoint(regions_, *step);
      if (way == Way::kOverlapped) continue;
      if (const absl::Status status = copy.Wait(); !status.ok()) return status;
    }
    return copy.Wait();
  }

  std::vector<char> state_;
  std::vector<phalanx::StateRegion> regions_;
  const int64_t rounds_;
  const int windows_;
};

absl::Status Run(size_t bytes, int step_ms, int windows) {
  const auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  Steps steps(bytes, step_ms, windows);
  const absl::Status done = (*session)->Run([&](phalanx::View& view) { return steps.Run(view); });
  return done.ok() ? (*session)->Close() : done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: saving_steps BYTES STEP_MS WINDOWS\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const absl::Status status =
      Run(std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]), std::atoi(argv[3]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
