// A moment on the monotonic clock by which a blocking call returns.
#ifndef PHALANX_BASE_DEADLINE_H_
#define PHALANX_BASE_DEADLINE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace phalanx {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(Clock::time_point at) : at_(at) {}

  // `timeout` from now. Reads the clock, so pure rooms take a Deadline and never make one.
  static Deadline After(Clock::duration timeout) {
    const Clock::time_point now = Clock::now();
    return timeout > Clock::time_point::max() - now ? Never() : Deadline(now + timeout);
  }
  static Deadline Never() { return Deadline(Clock::time_point::max()); }

  Clock::time_point at() const { return at_; }
  bool Passed(Clock::time_point now) const { return now >= at_; }
  // Time left, never negative.
  Clock::duration Left(Clock::time_point now) const {
    return now >= at_ ? Clock::duration::zero() : at_ - now;
  }
  // Whole milliseconds left, rounded up and at most `cap_ms`: what poll() and epoll_wait() take.
  int LeftMs(Clock::time_point now, int cap_ms) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(Left(now)).count();
    return static_cast<int>(std::min<int64_t>(left, cap_ms));
  }

 private:
  Clock::time_point at_;
};

}  // namespace phalanx

#endif  // PHALANX_BASE_DEADLINE_H_
