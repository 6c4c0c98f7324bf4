// A program that is interrupted, for stress/recovery/cost.py: `recovery_loop BYTES FILE`. Each rank
// has a state of so many bytes, all-reduces a word again and again and saves twice a second, until
// the file is there. What it prints, a line at a time (times in ns, of the monotonic clock):
//
//   pid P                      at the start, spares too
//   copy_us T                  all ranks at once copy their states into touched memory
//   saving_us T step S at NS   Checkpoint() has returned
//   resumed epoch E at NS      the first all-reduce of a view after the first has completed
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(500);
constexpr int kCopies = 5;

long long Us(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

long long Ns(Clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

class Loop {
 public:
  Loop(size_t bytes, std::string file)
      : state_(bytes, 'a'), copy_(bytes, 'b'), file_(std::move(file)) {}

  absl::Status Run(phalanx::View& view) {
    const phalanx::StateRegion regions[] = {{"state", state_.data(), state_.size()}};
    absl::StatusOr<int64_t> step = view.Restore(regions);
    if (!step.ok()) return step.status();
    absl::StatusOr<bool> done = Agree(view);
    if (done.ok() && view.epoch() > 1) {
      std::printf("resumed epoch %d at %lld\n", static_cast<int>(view.epoch()), Ns(Clock::now()));
    }
    if (done.ok() && view.epoch() == 1) done = TimeCopies(view);
    for (; done.ok() && !*done; ++*step, done = Agree(view)) {
      if (!is_due_) continue;
      const Clock::time_point begin = Clock::now();
      if (const absl::Status status = view.Checkpoint(regions, *step); !status.ok()) return status;
      saved_ = Clock::now();
      std::printf("saving_us %lld step %lld at %lld\n", Us(saved_ - begin),
                  static_cast<long long>(*step), Ns(saved_));
    }
    return done.status();
  }

 private:
  // Whether the file is there, as rank 0 sees it; it says as well whether it is time to save.
  absl::StatusOr<bool> Agree(phalanx::View& view) {
    int64_t said[2] = {0, 0};
    if (view.rank() == 0) {
      said[0] = access(file_.c_str(), F_OK) == 0 ? 1 : 0;
      said[1] = Clock::now() - saved_ >= kInterval ? 1 : 0;
    }
    const absl::Status status =
        view.world()
            .AllReduce(said, said, 2, phalanx::DataType::kInt64, phalanx::ReduceOp::kSum)
            .Wait();
    if (!status.ok()) return status;
    is_due_ = said[1] != 0;
    return said[0] != 0;
  }

  absl::StatusOr<bool> TimeCopies(phalanx::View& view) {
    for (int i = 0; i < kCopies; ++i) {
      if (const absl::Status status = view.world().Barrier().Wait(); !status.ok()) return status;
      const Clock::time_point begin = Clock::now();
      std::memcpy(copy_.data(), state_.data(), state_.size());
      std::printf("copy_us %lld\n", Us(Clock::now() - begin));
    }
    return Agree(view);
  }

  std::vector<char> state_;
  std::vector<char> copy_;
  const std::string file_;
  bool is_due_ = false;
  Clock::time_point saved_ = Clock::now();
};

absl::Status Run(size_t bytes, const std::string& file) {
  const auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  Loop loop(bytes, file);
  std::printf("pid %d\n", getpid());
  const absl::Status done = (*session)->Run([&](phalanx::View& view) { return loop.Run(view); });
  return done.ok() ? (*session)->Close() : done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: recovery_loop BYTES FILE\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const absl::Status status = Run(std::strtoull(argv[1], nullptr, 10), argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
