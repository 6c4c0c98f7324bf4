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

// "off", "strict", "adaptive": the values of PHALANX_ORDERING.
const char* NameOf(OrderingMode mode);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_ORDERING_MODE_H_
