#include "looking.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>

namespace phalanx::control {

// An answer is on its way most times, and waking a core that sleeps takes longer than the answer.
// So we look for it for a moment, as long as that was of use the last time.
bool LookForInput(int fd, Clock::duration patience, bool* looking_pays) {
  constexpr Clock::duration kLook = std::chrono::microseconds(50);
  pollfd waited{fd, POLLIN, 0};
  if (*looking_pays) {
    const Deadline end = Deadline::After(std::min(patience, kLook));
    while (!end.Passed(Clock::now())) {
      if (::poll(&waited, 1, 0) > 0) return true;
      std::this_thread::yield();  // the agent may need the core
    }
  }
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(patience).count();
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec timeout{ns / kSecond, ns % kSecond};
  *looking_pays = ::ppoll(&waited, 1, &timeout, nullptr) > 0;
  return *looking_pays;
}

}  // namespace phalanx::control
