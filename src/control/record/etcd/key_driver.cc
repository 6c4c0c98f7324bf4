#include "key_driver.h"

#include <chrono>
#include <optional>
#include <vector>

namespace phalanx::control {
namespace {

int64_t Nanoseconds(Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

}  // namespace

Finished KeyDriver::Perform(KeyRequest request, Deadline deadline) {
  std::vector<KeyOutput> outputs = writer_.Step(
      Begin{std::move(request), Nanoseconds(deadline.at())}, Nanoseconds(Clock::now()));
  while (true) {
    std::optional<StoreCall> call;
    for (KeyOutput& output : outputs) {
      if (const auto* say = std::get_if<Say>(&output)) logger_.Warning(say->line);
      if (auto* finished = std::get_if<Finished>(&output)) return std::move(*finished);
      if (auto* wanted = std::get_if<StoreCall>(&output)) call = std::move(*wanted);
    }
    KeyInput next = WakeUp{};
    if (call.has_value()) {
      next = store_->Perform(*call);
    } else if (!WaitUntil(*writer_.WakeAt())) {
      return {absl::CancelledError("the coordinator ends"), ""};
    }
    outputs = writer_.Step(next, Nanoseconds(Clock::now()));
  }
}

void KeyDriver::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

bool KeyDriver::WaitUntil(int64_t at_ns) {
  const Clock::time_point at{std::chrono::nanoseconds(at_ns)};
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, at, [this] { return stopped_; });
}

}  // namespace phalanx::control
