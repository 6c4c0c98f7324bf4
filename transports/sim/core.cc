#include "core.h"

#include <algorithm>

#include "group.h"
#include "wire.h"

namespace phalanx::sim {

Core::Core(const Options& options) : options_(options), random_(options.seed) {}
Core::~Core() = default;

Time Core::Delay() {
  const auto spread = static_cast<uint64_t>((options_.most_delay - options_.least_delay).count());
  return options_.least_delay + Time(static_cast<int64_t>(random_() % (spread + 1)));
}

void Core::At(Time time, std::function<void()> event) {
  events_.emplace(std::make_pair(time, asked_++), std::move(event));
  Changed();
}

bool Core::Step() {
  if (events_.empty()) return false;
  const auto next = events_.begin();
  now_ = next->first.first;
  const std::function<void()> event = std::move(next->second);
  events_.erase(next);
  event();
  return true;
}

void Core::StepOrWait(std::chrono::nanoseconds timeout) {
  std::unique_lock<std::recursive_mutex> lock(mutex_);
  if (Step()) return;
  const auto most =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::milliseconds(1));
  changed_.wait_for(lock, std::min(timeout, most));
}

void Core::Violation(const std::string& text) {
  constexpr size_t kMost = 20;  // one mistake tends to repeat itself
  if (violations_.size() < kMost) violations_.push_back(text);
}

std::shared_ptr<Endpoint> Core::AddEndpoint() {
  auto endpoint = std::make_shared<Endpoint>();
  endpoint->address = "sim-wire-" + std::to_string(endpoints_.size());
  endpoints_[endpoint->address] = endpoint;
  return endpoint;
}

std::shared_ptr<Endpoint> Core::FindEndpoint(const std::string& address) const {
  const auto found = endpoints_.find(address);
  return found == endpoints_.end() ? nullptr : found->second;
}

std::shared_ptr<GroupState> Core::FindGroup(const std::string& key, int size) {
  std::shared_ptr<GroupState>& group = groups_[key];
  if (group == nullptr) group = std::make_shared<GroupState>(size);
  return group;
}

}  // namespace phalanx::sim
