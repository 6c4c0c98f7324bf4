// Loops over Phalanx's own API for stress/ordering/cost.py: `ordering_loops NAME OPERATIONS`. Rank
// 0 prints one line of JSON.
//
//   plain        an all-reduce of 8 B, waited for, and again
//   checked      before each, a barrier and two all-gathers of fingerprints: how debug modes of
//                training libraries find mismatches
//   negotiated   each waits for a thread that, once a millisecond, gathers on rank 0 who is ready
//                and broadcasts what may start: how libraries with a background thread keep order
//   pauses       two communicators in turn, with pauses of 1 to 20 ms on rank 0, irregular
//   turned       two communicators in turn, then in the other order: what a fence costs
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

using Clock = std::chrono::steady_clock;
using phalanx::Communicator;
using phalanx::DataType;
using phalanx::ReduceOp;

double Us(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A loop can't go on after a failure, and has nothing to save.
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

class Loops {
 public:
  Loops(phalanx::Session* session, int operations) : session_(session), operations_(operations) {
    for (auto& communicator : communicators_) {
      absl::StatusOr<std::unique_ptr<Communicator>> made = world().Split(0, world().rank());
      Check(made.status());
      communicator = *std::move(made);
    }
  }

  void Plain() {
    TimeEach([this] { Reduce(world()); });
  }
  void Checked();
  void Negotiated();
  void Pauses();
  void Turned();

 private:
  Communicator& world() { return session_->view().world(); }
  void Reduce(Communicator& communicator) {
    Check(communicator.AllReduce(&value_, &sum_, 1, DataType::kInt64, ReduceOp::kSum).Wait());
  }
  template <typename Operation>
  void TimeEach(const Operation& operation) {
    const int warm_up = std::min(operations_ / 10 + 1, 100);
    for (int i = 0; i < warm_up; ++i) operation();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < operations_; ++i) operation();
    Say("time_us", Us(Clock::now() - begin) / operations_);
  }
  void Say(const char* what, double value) {
    if (world().rank() == 0) std::printf("{\"%s\": %.3f}\n", what, value);
  }

  phalanx::Session* const session_;
  const int operations_;
  std::array<std::unique_ptr<Communicator>, 2> communicators_;
  int64_t value_ = 1;
  int64_t sum_ = 0;
};

void Loops::Checked() {
  Communicator& control = *communicators_[0];
  struct Fingerprint {
    int64_t sequence, kind, type, count;
  };
  std::vector<int64_t> sizes(static_cast<size_t>(world().size()));
  std::vector<Fingerprint> all(static_cast<size_t>(world().size()));
  int64_t sequence = 0;
  TimeEach([&] {
    const Fingerprint mine = {sequence++, 1, 2, 1};
    const int64_t size = sizeof(mine);
    Check(control.Barrier().Wait());
    Check(control.AllGather(&size, sizes.data(), 1, DataType::kInt64).Wait());
    Check(control.AllGather(&mine, all.data(), sizeof(mine), DataType::kUint8).Wait());
    for (const Fingerprint& theirs : all) {
      if (theirs.sequence != mine.sequence) Check(absl::InternalError("fingerprints differ"));
    }
    Reduce(world());
  });
}

void Loops::Negotiated() {
  Communicator& control = *communicators_[0];
  std::mutex mutex;
  std::condition_variable done;
  bool wanted = false;
  bool over = false;
  std::thread cycle([&] {
    constexpr std::chrono::milliseconds kCycle{1};
    std::vector<int64_t> all(static_cast<size_t>(world().size()));
    Clock::time_point next = Clock::now();
    for (bool go_on = true; go_on;) {
      next += kCycle;
      std::this_thread::sleep_until(next);
      int64_t ready = 0;  // 1: an operation waits, 2: no more will come
      {
        const std::lock_guard lock(mutex);
        ready = over ? 2 : wanted ? 1 : 0;
      }
      Check(control.Gather(&ready, all.data(), 1, DataType::kInt64, 0).Wait());
      int64_t decided = *std::min_element(all.begin(), all.end());
      Check(control.Broadcast(&decided, &decided, 1, DataType::kInt64, 0).Wait());
      go_on = decided < 2;
      if (decided != 1) continue;
      Reduce(world());
      const std::lock_guard lock(mutex);
      wanted = false;
      done.notify_one();
    }
  });
  TimeEach([&] {
    std::unique_lock lock(mutex);
    wanted = true;
    done.wait(lock, [&] { return !wanted; });
  });
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  cycle.join();
}

void Loops::Pauses() {
  std::mt19937 random(1);
  for (int i = 0; i < operations_; ++i) {
    for (const auto& communicator : communicators_) Reduce(*communicator);
    // The first are for learning.
    if (i < 50 || world().rank() != 0) continue;
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 19'000));
  }
  Say("iterations", operations_);
}

// From the change until operations are as fast as before, which ten in a row show. The learner asks
// for more repetitions after each fence, so the first is what counts.
void Loops::Turned() {
  constexpr int kSettled = 500;
  constexpr int kInARow = 10;
  std::vector<double> times_us(kSettled);
  const auto iterate = [&](int turn) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < 2; ++i) Reduce(*communicators_[static_cast<size_t>((i + turn) % 2)]);
    return Us(Clock::now() - begin);
  };
  for (double& time_us : times_us) time_us = iterate(0);
  const double slow_us = 10 * MedianOf(times_us);
  for (int turn = 1; turn <= operations_; ++turn) {
    for (double& time_us : times_us) time_us = iterate(turn);
    double fence_us = 0;
    int fast = 0;
    for (const double time_us : times_us) {
      fast = time_us < slow_us ? fast + 1 : 0;
      if (fast == kInARow) break;
      fence_us += time_us;
    }
    Say("fence_us", fence_us);
  }
}

int Run(const std::string& name, int operations) {
  const std::map<std::string, void (Loops::*)()> loops = {
      {"plain", &Loops::Plain},   {"checked", &Loops::Checked}, {"negotiated", &Loops::Negotiated},
      {"pauses", &Loops::Pauses}, {"turned", &Loops::Turned},
  };
  const auto loop = loops.find(name);
  if (loop == loops.end() || operations < 1) {
    std::fprintf(stderr, "usage: ordering_loops NAME OPERATIONS\n");
    return 2;
  }
  const absl::StatusOr<phalanx::Options> options = phalanx::Options::FromEnvironment();
  Check(options.status());
  absl::StatusOr<std::unique_ptr<phalanx::Session>> session = phalanx::Session::Join(*options);
  Check(session.status());
  {
    Loops all(session->get(), operations);
    (all.*loop->second)();
  }
  Check((*session)->Close());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return Run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 0);
}
