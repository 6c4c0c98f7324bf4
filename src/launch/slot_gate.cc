#include "launch/slot_gate.h"

#include <algorithm>

#include "engine/channel.h"

namespace phalanx::launch {
namespace {

// LaunchMark::position of an operation that holds a slot.
constexpr int64_t kHoldsSlot = 0;

}  // namespace

void SlotGate::Issued(engine::Operation* operation, bool reached) {
  if (reached) Reached(operation);
}

void SlotGate::Reached(engine::Operation* operation) {
  const std::lock_guard lock(mutex_);
  if (free_ == 0) {
    waiting_.push_back(operation);
    return;
  }
  --free_;
  operation->mark().position = kHoldsSlot;
  operation->LaunchHere();
}

void SlotGate::Ended(engine::Operation* operation) {
  const std::lock_guard lock(mutex_);
  if (operation->mark().position != kHoldsSlot) {
    // Aborted before it had its turn, or before its stream reached it.
    const auto found = std::find(waiting_.begin(), waiting_.end(), operation);
    if (found != waiting_.end()) waiting_.erase(found);
    return;
  }
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  engine::Operation* const next = waiting_.front();
  waiting_.pop_front();
  next->mark().position = kHoldsSlot;
  next->channel().Launch(next);
}

}  // namespace phalanx::launch
