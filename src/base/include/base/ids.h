// Names of the things a job is made of. Plain integers with a type of their own where a mix-up
// would compile and hurt; ranks stay `int`, as in MPI and NCCL.
#ifndef PHALANX_BASE_IDS_H_
#define PHALANX_BASE_IDS_H_

#include <compare>
#include <cstdint>

namespace phalanx {

// The number of a view. Rises by one at every change of membership and never repeats in a job.
struct Epoch {
  uint64_t value = 0;
  auto operator<=>(const Epoch&) const = default;
};

// One process's life: random at its start, so that a restarted process is another member.
struct Incarnation {
  uint64_t value = 0;
  auto operator<=>(const Incarnation&) const = default;
};

// An ordered group of ranks inside a view; agreed by all its members.
struct CommunicatorId {
  uint16_t value = 0;
  auto operator<=>(const CommunicatorId&) const = default;
};
inline constexpr CommunicatorId kWorldCommunicator{0};
inline constexpr uint32_t kMaxCommunicators = 65536;  // of a view, one after the other

}  // namespace phalanx

#endif  // PHALANX_BASE_IDS_H_
