// Messages that stand side by side on a stream: nothing between can tell one from the other, so the
// stream reaches them together, as it does the parts of a group.
//
// Without that, two ranks that each send and then receive on one stream wait for each other for
// ever: each one's receive stands behind a send that waits for the other's receive.
#ifndef PHALANX_ENGINE_STREAM_UNITS_H_
#define PHALANX_ENGINE_STREAM_UNITS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/operation.h"

namespace phalanx::engine {

// One for an engine. Thread-safe.
class StreamUnits {
 public:
  using ReachedCallback = std::function<void(Operation* operation)>;

  // Queues `operation` on its stream. `reached` is called once for it, on the stream's thread or
  // this one, when the stream gets there; it may come before the return. The stream then waits for
  // `end`, unless the operation is part of a group.
  //
  // A message joins the unit before it if that is made of messages too, nothing was queued since,
  // and neither writes what the other uses. Returns whether it did.
  absl::StatusOr<bool> Queue(Operation* operation, const std::shared_ptr<device::ManualEvent>& end,
                             const ReachedCallback& reached);

 private:
  class Unit;
  struct Last {
    uint64_t position = 0;  // of the stream behind the unit
    std::shared_ptr<Unit> unit;
  };

  std::mutex mutex_;
  absl::flat_hash_map<const device::Stream*, Last> last_;  // by stream; stale ones don't matter
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_STREAM_UNITS_H_
