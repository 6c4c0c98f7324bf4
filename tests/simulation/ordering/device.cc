#include "device.h"

#include <algorithm>
#include <utility>

namespace phalanx::ordering::simulation {

void Device::Issue(uint64_t id, uint32_t stream, bool beside) {
  auto& units = streams_[stream];
  ops_[id] = {stream, false, false};
  if (beside && !units.empty()) {
    units.back().push_back(id);
  } else {
    units.push_back({id});
  }
  Reach(stream);
}

void Device::Reach(uint32_t stream) {
  auto& units = streams_[stream];
  if (units.empty()) return;
  for (const uint64_t id : units.front()) {
    const auto found = ops_.find(id);
    if (found == ops_.end() || found->second.present) continue;
    found->second.present = true;
    reached_.push_back(id);
    if (found->second.launched) Start(id);
  }
}

void Device::Launch(uint64_t id) {
  if (holds_ > 0 && hoards_) {
    held_launches_.push_back(id);
    return;
  }
  const auto found = ops_.find(id);
  if (found == ops_.end() || found->second.launched) return;
  found->second.launched = true;
  if (found->second.present) Start(id);
}

void Device::Start(uint64_t id) {
  if (static_cast<int>(resident_.size()) >= slots_) ++overflows_;
  wait_for_slot_.push_back(id);
  FillSlots();
}

void Device::FillSlots() {
  while (!wait_for_slot_.empty() && static_cast<int>(resident_.size()) < slots_) {
    const uint64_t id = wait_for_slot_.front();
    wait_for_slot_.pop_front();
    resident_.insert(id);
    became_resident_.push_back(id);
  }
}

void Device::Complete(uint64_t id) {
  const uint32_t stream = ops_.at(id).stream;
  ops_.erase(id);
  resident_.erase(id);
  auto& units = streams_[stream];
  for (auto unit = units.begin(); unit != units.end(); ++unit) {
    const auto found = std::find(unit->begin(), unit->end(), id);
    if (found == unit->end()) continue;
    unit->erase(found);
    if (unit->empty()) units.erase(unit);
    break;
  }
  FillSlots();
  Reach(stream);
}

void Device::Release() {
  if (--holds_ > 0) return;
  for (const uint64_t id : std::exchange(held_launches_, {})) Launch(id);
}

std::vector<uint64_t> Device::Incomplete() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, op] : ops_) ids.push_back(id);
  return ids;
}

std::vector<uint64_t> Device::TakeReached() { return std::exchange(reached_, {}); }

std::vector<uint64_t> Device::TakeResident() { return std::exchange(became_resident_, {}); }

}  // namespace phalanx::ordering::simulation
