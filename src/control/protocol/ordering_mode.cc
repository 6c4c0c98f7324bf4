#include "control_protocol/ordering_mode.h"

namespace phalanx::control {

const char* NameOf(OrderingMode mode) {
  switch (mode) {
    case OrderingMode::kOff:
      return "off";
    case OrderingMode::kStrict:
      return "strict";
    case OrderingMode::kAdaptive:
      return "adaptive";
  }
  return "unknown";
}

}  // namespace phalanx::control
