// The time of a node that may be frozen: what was put there happens when the node goes on, in
// order.
#ifndef PHALANX_TESTS_SIMULATION_VIEWS_NODE_TIME_H_
#define PHALANX_TESTS_SIMULATION_VIEWS_NODE_TIME_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "timeline.h"

namespace phalanx::control::simulation {

class NodeTime {
 public:
  explicit NodeTime(Timeline* world) : world_(world) {}

  Clock::time_point now() const { return world_->now(); }
  void After(Clock::duration delay, std::function<void()> what) {
    At(now() + delay, std::move(what));
  }
  void At(Clock::time_point time, std::function<void()> what) {
    world_->At(time, [this, what = std::move(what)]() mutable {
      if (frozen()) {
        held_.push_back(std::move(what));
      } else {
        what();
      }
    });
  }
  int64_t Between(int64_t least, int64_t most) { return world_->Between(least, most); }
  bool OneIn(int64_t n) { return world_->OneIn(n); }
  Clock::duration Up(int64_t most_us) { return world_->Up(most_us); }
  bool traces() const { return world_->traces(); }
  void Say(const std::string& line) { world_->Say(line); }

  void Freeze(Clock::duration duration) {
    thaws_at_ = std::max(thaws_at_, now() + duration);
    world_->At(thaws_at_, [this] {
      if (frozen()) return;  // for longer, by then
      for (const auto& what : std::exchange(held_, {})) what();
    });
  }
  bool frozen() const { return now() < thaws_at_; }
  // Frozen now, or since then. Of one that never was, that is the beginning.
  Clock::time_point thaws_at() const { return thaws_at_; }

 private:
  Timeline* const world_;
  Clock::time_point thaws_at_{};
  std::deque<std::function<void()>> held_;
};

}  // namespace phalanx::control::simulation

#endif  // PHALANX_TESTS_SIMULATION_VIEWS_NODE_TIME_H_
