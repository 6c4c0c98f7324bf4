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

const char* NameOf(StallAction action) {
  switch (action) {
    case StallAction::kAbort:
      return "abort";
    case StallAction::kWarn:
      return "warn";
  }
  return "unknown";
}

}  // namespace phalanx::control
