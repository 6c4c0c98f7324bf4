#include "control_protocol/job_settings.h"

#include "absl/strings/str_cat.h"

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

std::optional<SettingsDifference> Compare(const JobSettings& left, const JobSettings& right) {
  if (left.ordering != right.ordering) {
    return SettingsDifference{"PHALANX_ORDERING", NameOf(left.ordering), NameOf(right.ordering)};
  }
  if (left.device_slots != right.device_slots) {
    return SettingsDifference{"PHALANX_DEVICE_SLOTS", absl::StrCat(left.device_slots),
                              absl::StrCat(right.device_slots)};
  }
  if (left.stall_timeout_ms != right.stall_timeout_ms) {
    constexpr double kMsPerSecond = 1000;
    return SettingsDifference{"PHALANX_STALL_TIMEOUT",
                              absl::StrCat(left.stall_timeout_ms / kMsPerSecond),
                              absl::StrCat(right.stall_timeout_ms / kMsPerSecond)};
  }
  if (left.stall_action != right.stall_action) {
    return SettingsDifference{"PHALANX_STALL_ACTION", NameOf(left.stall_action),
                              NameOf(right.stall_action)};
  }
  if (left.fusion_threshold != right.fusion_threshold) {
    return SettingsDifference{"PHALANX_FUSION_THRESHOLD", absl::StrCat(left.fusion_threshold),
                              absl::StrCat(right.fusion_threshold)};
  }
  if (left.suspect_after_ms != right.suspect_after_ms) {
    return SettingsDifference{"PHALANX_SUSPECT_AFTER_MS", absl::StrCat(left.suspect_after_ms),
                              absl::StrCat(right.suspect_after_ms)};
  }
  if (left.replicas != right.replicas) {
    return SettingsDifference{"PHALANX_REPLICAS", absl::StrCat(left.replicas),
                              absl::StrCat(right.replicas)};
  }
  if (left.live != right.live) {
    return SettingsDifference{"PHALANX_LIVE", left.live ? "1" : "0", right.live ? "1" : "0"};
  }
  if (left.on_loss != right.on_loss) {
    return SettingsDifference{"PHALANX_ON_LOSS", left.on_loss.ToText(), right.on_loss.ToText()};
  }
  if (left.may_shrink != right.may_shrink) {
    return SettingsDifference{"PHALANX_MAY_SHRINK", left.may_shrink ? "1" : "0",
                              right.may_shrink ? "1" : "0"};
  }
  if (left.checkpoint_every != right.checkpoint_every) {
    return SettingsDifference{"PHALANX_CHECKPOINT_EVERY", absl::StrCat(left.checkpoint_every),
                              absl::StrCat(right.checkpoint_every)};
  }
  return std::nullopt;
}

}  // namespace phalanx::control
