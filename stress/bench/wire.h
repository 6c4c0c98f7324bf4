// On an emulated cluster (`phalanx run --emulate`): what goes over each node's link, and what its
// speed allows.
#ifndef PHALANX_STRESS_BENCH_WIRE_H_
#define PHALANX_STRESS_BENCH_WIRE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "phalanx/communicator.h"

namespace phalanx::stress {

// Bytes on the wire for each of the payload, as it is with full frames: an MTU of 1500 holds 1448
// bytes of a TCP stream with time stamps, and goes out as 1514.
inline constexpr double kWirePerPayload = 1514.0 / 1448.0;

class Wire {
 public:
  // Collective. Off where the job isn't on an emulated cluster.
  static absl::StatusOr<Wire> Find(Communicator& world);

  bool is_on() const { return bits_per_second_ > 0; }
  int nodes() const { return nodes_; }
  double bits_per_second() const { return bits_per_second_; }

  // What this node has sent so far, as the queue in front of its link has counted it; 0 on all but
  // its first rank, so that a maximum over all ranks is one over nodes. UNAVAILABLE when it can't
  // be read.
  absl::StatusOr<double> SentBytes() const;

  // No all-reduce of so many bytes takes less: each node's link carries 2 (N-1)/N of them.
  double LeastAllReduceUs(double bytes) const;

 private:
  double bits_per_second_ = 0;
  int nodes_ = 0;
  bool counts_ = false;  // this rank, for its node
};

}  // namespace phalanx::stress

#endif  // PHALANX_STRESS_BENCH_WIRE_H_
