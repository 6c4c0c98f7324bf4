#include "messaging/waiter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/check.h"

namespace phalanx::messaging {

Waiter::Waiter() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PHX_CHECK_MSG(event_fd_ >= 0, "eventfd: the process has too many descriptors");
}

Waiter::~Waiter() { close(event_fd_); }

void Waiter::Leave() { waiting_.fetch_sub(1); }

void Waiter::Wait(int fd, Clock::duration timeout) {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  const auto left = std::clamp<nanoseconds>(timeout, nanoseconds(0), seconds(3600));
  timespec limit;
  limit.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  pollfd fds[2] = {{fd, POLLIN, 0}, {event_fd_, POLLIN, 0}};
  ppoll(fds, 2, &limit, nullptr);
  // The last to leave takes the wake-up, so that it reaches all that wait.
  const bool last = waiting_.fetch_sub(1) == 1;
  if (last && (fds[1].revents & POLLIN) != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(event_fd_, &count, sizeof(count));
  }
}

void Waiter::WakeUp() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof(one));
}

}  // namespace phalanx::messaging
