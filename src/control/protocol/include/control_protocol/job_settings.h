// What all ranks of a job must have set alike.
#ifndef PHALANX_CONTROL_PROTOCOL_JOB_SETTINGS_H_
#define PHALANX_CONTROL_PROTOCOL_JOB_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "control_protocol/loss_policy.h"

namespace phalanx::control {

// How the ranks' operations are kept in one order, as PHALANX_ORDERING says.
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

// Of PHALANX_SUSPECT_AFTER_MS. Less than a few heartbeats would be chance.
inline constexpr uint32_t kDefaultSuspectAfterMs = 700;
inline constexpr uint32_t kMinSuspectAfterMs = 300;
inline constexpr uint32_t kMaxSuspectAfterMs = 1'000'000'000;
// Of PHALANX_REPLICAS.
inline constexpr int kDefaultReplicas = 2;
inline constexpr int kMaxReplicas = 16;
// Of PHALANX_CHECKPOINT_EVERY.
inline constexpr int kMaxCheckpointEvery = 1'000'000'000;

struct JobSettings {
  OrderingMode ordering = OrderingMode::kOff;
  int device_slots = 0;  // collectives that a device holds at once; 0: without limit
  uint32_t stall_timeout_ms = kDefaultStallTimeoutMs;
  StallAction stall_action = StallAction::kAbort;
  uint64_t fusion_threshold = 0;  // PHALANX_FUSION_THRESHOLD, bytes
  uint32_t suspect_after_ms = kDefaultSuspectAfterMs;
  int replicas = 0;   // copies of each rank's state; 0: kDefaultReplicas
  bool live = false;  // PHALANX_LIVE
  LossPolicy on_loss;
  bool may_shrink = false;   // PHALANX_MAY_SHRINK
  int checkpoint_every = 1;  // PHALANX_CHECKPOINT_EVERY, steps

  bool operator==(const JobSettings&) const = default;

  // Whether anybody knows what is in flight: with `adaptive` on a device without limit there is
  // nothing to order.
  bool TracksOperations() const {
    return ordering == OrderingMode::kStrict ||
           (ordering == OrderingMode::kAdaptive && device_slots > 0);
  }
};

// The first setting that differs, by its variable and values; nothing if they are equal.
struct SettingsDifference {
  std::string variable;
  std::string left;
  std::string right;
};
std::optional<SettingsDifference> Compare(const JobSettings& left, const JobSettings& right);

// "abort", "warn": the values of PHALANX_STALL_ACTION.
const char* NameOf(StallAction action);

// "off", "strict", "adaptive": the values of PHALANX_ORDERING.
const char* NameOf(OrderingMode mode);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_JOB_SETTINGS_H_
