// What an emulated cluster is to be, as users write it. Pure.
#ifndef PHALANX_CONTROL_EMULATION_CLUSTER_SHAPE_H_
#define PHALANX_CONTROL_EMULATION_CLUSTER_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

struct ClusterShape {
  std::vector<int> ranks;        // of each node
  uint64_t bits_per_second = 0;  // of each node's link, in each direction

  bool operator==(const ClusterShape&) const = default;
};

inline constexpr int kMaxEmulatedNodes = 200;

// NODESxRANKS@RATE, or the ranks of each node with commas between: "4x2@1gbit", "1,2,4@200mbit".
// RATE is a number with kbit, mbit or gbit behind it, in powers of 1000 as tc(8) has them.
// INVALID_ARGUMENT names the part that is wrong.
absl::StatusOr<ClusterShape> ParseClusterShape(absl::string_view text);

// Parses back to the same: "1gbit", "1500mbit", "12345bit" where it is no whole number of kbit.
std::string RateText(uint64_t bits_per_second);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_EMULATION_CLUSTER_SHAPE_H_
