// How much may be sent in the background: a token bucket. Pure: whoever asks says what time it is.
#ifndef PHALANX_CONTROL_AGENT_SEND_BUDGET_H_
#define PHALANX_CONTROL_AGENT_SEND_BUDGET_H_

#include <chrono>
#include <cstdint>

#include "base/deadline.h"

namespace phalanx::control {

// In any span of time at most `bytes_per_second` times (the span and kCatchUp), and one piece more:
// a piece goes while the bucket isn't empty, and leaves a debt behind. What wasn't used for longer
// than kCatchUp is gone.
class SendBudget {
 public:
  // A timer comes a little late each time; so much of what it missed is made up for.
  static constexpr Clock::duration kCatchUp = std::chrono::milliseconds(20);

  // 0: without limit.
  explicit SendBudget(uint64_t bytes_per_second) : rate_(bytes_per_second) {}

  bool is_limited() const { return rate_ > 0; }
  // From when on the next piece may go; any time that has passed: at once.
  Clock::time_point free_at() const { return paid_until_ - kCatchUp; }
  // A piece of so many bytes goes, not before free_at().
  void Spend(uint64_t bytes, Clock::time_point now);

 private:
  const uint64_t rate_;
  Clock::time_point paid_until_{};  // what was sent is worth the time until then
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_SEND_BUDGET_H_
