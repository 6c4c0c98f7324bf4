// Durations as the log and the job's events have them.
#ifndef PHALANX_CONTROL_COORDINATOR_DURATIONS_H_
#define PHALANX_CONTROL_COORDINATOR_DURATIONS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "base/deadline.h"

namespace phalanx::control {

inline int64_t Microseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

inline std::string Milliseconds(Clock::duration duration) {
  const double us = std::chrono::duration<double, std::micro>(duration).count();
  return absl::StrFormat("%.1f ms", us / 1000);
}

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_DURATIONS_H_
