// Virtual time and chance of a simulation: what was put at a time happens in order of times, and at
// one time in the order in which it was put there. The same seed gives the same run.
#ifndef PHALANX_TESTS_SIMULATION_VIEWS_TIMELINE_H_
#define PHALANX_TESTS_SIMULATION_VIEWS_TIMELINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "base/deadline.h"

namespace phalanx::control::simulation {

using Microseconds = std::chrono::microseconds;

class Timeline {
 public:
  using Trace = std::function<void(const std::string&)>;

  Timeline(uint64_t seed, Trace trace) : random_(seed), trace_(std::move(trace)) {}

  Clock::time_point now() const { return now_; }
  void After(Clock::duration delay, std::function<void()> what) {
    At(now_ + delay, std::move(what));
  }
  void At(Clock::time_point time, std::function<void()> what) {
    events_.emplace(std::pair(time, ++made_), std::move(what));
  }
  // Does what comes next; false: nothing does.
  bool Step() {
    if (events_.empty()) return false;
    auto next = events_.extract(events_.begin());
    now_ = next.key().first;
    next.mapped()();
    return true;
  }

  // Uniform in [least, most]; the same with every standard library.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  Clock::duration Up(int64_t most_us) { return Microseconds(Between(1, most_us)); }

  bool traces() const { return trace_ != nullptr; }
  void Say(const std::string& line) {
    if (trace_) trace_(std::to_string((now_ - Clock::time_point{}) / Microseconds(1)) + " " + line);
  }

 private:
  std::mt19937_64 random_;
  Trace trace_;
  Clock::time_point now_{};
  uint64_t made_ = 0;
  std::map<std::pair<Clock::time_point, uint64_t>, std::function<void()>> events_;
};

}  // namespace phalanx::control::simulation

#endif  // PHALANX_TESTS_SIMULATION_VIEWS_TIMELINE_H_
