#include "send_budget.h"

#include <algorithm>
#include <chrono>

namespace phalanx::control {

void SendBudget::Spend(uint64_t bytes, Clock::time_point now) {
  if (!is_limited()) return;
  // Longer than any job, and adds to any time.
  constexpr double kLongestSeconds = 1e8;
  const double seconds =
      std::min(static_cast<double>(bytes) / static_cast<double>(rate_), kLongestSeconds);
  paid_until_ = std::max(paid_until_, now) +
                std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace phalanx::control
