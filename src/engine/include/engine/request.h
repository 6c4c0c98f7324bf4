// What the API hands to the engine: a validated operation.
#ifndef PHALANX_ENGINE_REQUEST_H_
#define PHALANX_ENGINE_REQUEST_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.h"
#include "device/reduce.h"
#include "phalanx/types.h"
#include "plan/collective.h"

namespace phalanx::engine {

struct KeyedLane;

// Plain data, so that issuing an operation allocates nothing.
struct Request {
  plan::CollectiveKind kind = plan::CollectiveKind::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int root_or_peer = 0;
  uint64_t count = 0;
  // Counts and displacements of the operations with unequal parts; null for the others.
  std::shared_ptr<const plan::Collective> parts;

  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  device::Factor factor;
  KeyedLane* key = nullptr;          // the channel's, of a collective with a key
  device::Stream* stream = nullptr;  // null: starts at once
  // Its stream reaches it together with the operation before it: a part of a group, or a message
  // that stands beside another (then the channel sets it; see StreamUnits).
  bool beside = false;
  // False for a group's parts: the stream waits for Operation::end_event() of each by the caller's
  // doing.
  bool stream_waits = true;
  std::chrono::nanoseconds timeout{0};
  // Where the program issued it; null: not known. Not owned.
  const char* file = nullptr;
  uint32_t line = 0;

  bool is_message() const {
    return kind == plan::CollectiveKind::kSend || kind == plan::CollectiveKind::kReceive;
  }
  plan::Collective ToCollective() const;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_REQUEST_H_
