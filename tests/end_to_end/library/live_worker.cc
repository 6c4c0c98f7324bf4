// A worker of the tests that takes steps live: each sums over two communicators, and what is kept
// is the same on all ranks. Prints `rank R  weights DIGEST` at its end and `applied FIRST to LAST`
// of this process.
//
//   phalanx_live_worker STEPS [save] [EPOCH:RANK:STEP:WHERE…]
//
// With `save` it also saves checkpoints.
// In that epoch and step that rank kills itself
//   first    before the step's first operation
//   between  its two operations
//   vote     when both are complete, before it votes
//   voted    while it waits for the others, who never come to vote
//   apply    when half of what is kept has changed
//   applied  after the step
//   restore  before it asks for its state, and so STEP is ignored
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

constexpr size_t kCount = 3000;

struct Kill {
  uint64_t epoch = 0;
  int rank = 0;
  int64_t step = 0;
  std::string where;
};

Kill ParseKill(const std::string& text) {
  std::istringstream in(text);
  Kill kill;
  char colon = 0;
  in >> kill.epoch >> colon >> kill.rank >> colon >> kill.step >> colon >> kill.where;
  return kill;
}

class Worker {
 public:
  Worker(int64_t steps, bool saves, std::vector<Kill> kills)
      : steps_(steps), saves_(saves), kills_(std::move(kills)) {}

  absl::Status Work(phalanx::View& view) {
    MaybeDie(view, 0, "restore");
    const phalanx::StateRegion state[] = {
        {"values", values_.data(), values_.size() * sizeof(values_[0])},
        {"nothing", nullptr, 0},
        {"next", &next_, sizeof(next_)}};
    const absl::StatusOr<int64_t> step = view.Restore(state);
    if (!step.ok()) return step.status();
    if (*step != next_) return absl::InternalError("the state isn't that of the step before");
    auto reversed = view.world().Split(0, -view.rank());
    if (!reversed.ok()) return reversed.status();
    for (int64_t i = *step; i < steps_; ++i) {
      absl::Status status = Step(view, **reversed, i);
      if (status.ok() && saves_) status = view.Checkpoint(state, i);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  void Print(int rank) const {
    uint64_t digest = 0;
    for (const uint64_t value : values_) digest = digest * 1'000'003 + value;
    std::printf("rank %d  weights %016llx\n", rank, static_cast<unsigned long long>(digest));
    std::printf("rank %d applied %lld to %lld\n", rank, static_cast<long long>(first_),
                static_cast<long long>(last_));
  }

 private:
  bool Dies(const phalanx::View& view, int rank, int64_t step, const char* where) const {
    for (const Kill& kill : kills_) {
      if (kill.epoch == view.epoch() && kill.rank == rank && kill.where == where &&
          (kill.step == step || kill.where == "restore")) {
        return true;
      }
    }
    return false;
  }
  void MaybeDie(const phalanx::View& view, int64_t step, const char* where) const {
    if (Dies(view, view.rank(), step, where)) ::kill(::getpid(), SIGKILL);
  }

  static absl::Status Sum(phalanx::Communicator& communicator, std::vector<uint64_t>* values) {
    return communicator
        .AllReduce(values->data(), values->data(), values->size(), phalanx::DataType::kUint64,
                   phalanx::ReduceOp::kSum)
        .Wait();
  }

  // Whoever isn't to vote waits for a message of the one that dies instead.
  absl::Status AwaitDeath(phalanx::View& view, int64_t step) const {
    for (int rank = 0; rank < view.size(); ++rank) {
      if (!Dies(view, rank, step, "voted")) continue;
      if (rank == view.rank()) {
        ::ualarm(20'000, 0);  // SIGALRM ends it, in Step
        return absl::OkStatus();
      }
      char nothing = 0;
      return view.world().Receive(&nothing, 1, phalanx::DataType::kUint8, rank).Wait();
    }
    return absl::OkStatus();
  }

  absl::Status Step(phalanx::View& view, phalanx::Communicator& reversed, int64_t step) {
    MaybeDie(view, step, "first");
    std::vector<uint64_t> first(kCount);
    std::vector<uint64_t> second(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      first[i] = values_[i] * static_cast<uint64_t>(view.rank() + 3) + static_cast<uint64_t>(step);
      second[i] = values_[i] ^ static_cast<uint64_t>(view.rank() + 7);
    }
    if (const absl::Status status = Sum(view.world(), &first); !status.ok()) return status;
    MaybeDie(view, step, "between");
    if (const absl::Status status = Sum(reversed, &second); !status.ok()) return status;
    MaybeDie(view, step, "vote");
    if (const absl::Status status = AwaitDeath(view, step); !status.ok()) return status;
    const absl::Status status = view.Step(step, [&] {
      if (step != next_) return absl::InternalError("a step was applied out of turn");
      for (size_t i = 0; i < kCount; ++i) {
        if (i == kCount / 2) MaybeDie(view, step, "apply");
        values_[i] = values_[i] * 31 + first[i] * 17 + second[i];
      }
      next_ = step + 1;
      if (first_ < 0) first_ = step;
      last_ = step;
      return absl::OkStatus();
    });
    if (status.ok()) MaybeDie(view, step, "applied");
    return status;
  }

  const int64_t steps_;
  const bool saves_;
  const std::vector<Kill> kills_;
  std::vector<uint64_t> values_ = std::vector<uint64_t>(kCount, 1);
  int64_t next_ = 0;
  int64_t first_ = -1;
  int64_t last_ = -1;
};

absl::Status Run(int argc, char** argv) {
  auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  options->live = true;
  std::vector<Kill> kills;
  bool saves = false;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "save") {
      saves = true;
    } else {
      kills.push_back(ParseKill(argv[i]));
    }
  }
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  Worker worker(argc > 1 ? std::atoll(argv[1]) : 10, saves, std::move(kills));
  const absl::Status done = (*session)->Run([&](phalanx::View& view) { return worker.Work(view); });
  if (!done.ok()) return done;
  const int rank = (*session)->view().rank();
  if (rank >= 0) worker.Print(rank);
  return (*session)->Close();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "live worker: %s\n", std::string(status.message()).c_str());
  return 1;
}
