// How much of which buffer an operation uses on one rank, and whether a call's arguments can be
// meant. Pure: the rules of include/phalanx/communicator.h in one place.
#ifndef PHALANX_API_EXTENTS_H_
#define PHALANX_API_EXTENTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "phalanx/types.h"
#include "plan/collective.h"

namespace phalanx::api {

// A call as the user made it, for the operations with one count.
struct Call {
  plan::CollectiveKind kind = plan::CollectiveKind::kBarrier;
  const void* send = nullptr;
  void* receive = nullptr;
  uint64_t count = 0;
  DataType type = DataType::kUint8;
  int root_or_peer = 0;
  ReduceOp op = ReduceOp::kSum;
};

// What a rank reads and writes, in elements. A buffer that it doesn't use has 0.
struct Extents {
  uint64_t send = 0;
  uint64_t receive = 0;
  // Where in the larger buffer the smaller one lies when the call is in place.
  uint64_t in_place_at = 0;
  bool may_be_in_place = true;
};

Extents ExtentsOf(const Call& call, int rank, int size);

// OK, or INVALID_ARGUMENT that says which argument is wrong and what would be right. The message
// begins with the operation's name; the caller puts rank and communicator in front.
absl::Status Validate(const Call& call, int rank, int size);

// Neither null where elements are used, nor overlapping other than in place.
absl::Status ValidateBuffers(const Call& call, const Extents& extents);

}  // namespace phalanx::api

#endif  // PHALANX_API_EXTENTS_H_
