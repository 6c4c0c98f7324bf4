// How a job keeps its ranks' operations in one order, as PHALANX_ORDERING says.
#ifndef PHALANX_CONTROL_PROTOCOL_ORDERING_MODE_H_
#define PHALANX_CONTROL_PROTOCOL_ORDERING_MODE_H_

#include <cstdint>

namespace phalanx::control {

enum class OrderingMode : uint8_t {
  kOff,       // not at all
  kStrict,    // every operation is announced and waits for its ticket
  kAdaptive,  // until the order repeats itself, and from then on without a message
};
inline constexpr int kOrderingModeCount = 3;

// Of PHALANX_DEVICE_SLOTS; more collectives than can be in flight.
inline constexpr int kMaxDeviceSlots = 1 << 20;

// What becomes of a cycle of operations that is proven, as PHALANX_STALL_ACTION says.
enum class StallAction : uint8_t {
  kAbort,  // it is reported, and its operations fail
  kWarn,   // it is reported, and they wait for their own deadlines
};
inline constexpr int kStallActionCount = 2;

// Of PHALANX_STALL_TIMEOUT.
inline constexpr uint32_t kDefaultStallTimeoutMs = 100;
inline constexpr uint32_t kMaxStallTimeoutMs = 1'000'000'000;

// Whether anybody knows what is in flight: with `adaptive` on a device without limit there is
// nothing to order.
inline bool TracksOperations(OrderingMode mode, int device_slots) {
  return mode == OrderingMode::kStrict || (mode == OrderingMode::kAdaptive && device_slots > 0);
}

// "abort", "warn": the values of PHALANX_STALL_ACTION.
const char* NameOf(StallAction action);

// "off", "strict", "adaptive": the values of PHALANX_ORDERING.
const char* NameOf(OrderingMode mode);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_ORDERING_MODE_H_
