// A checkpoint whose copy is being taken while the program goes on.
#ifndef PHALANX_CHECKPOINT_COPY_H_
#define PHALANX_CHECKPOINT_COPY_H_

#include <memory>

#include "absl/status/status.h"
#include "phalanx/export.h"

namespace phalanx {
namespace api {
class SessionState;
}  // namespace api

// From View::BeginCheckpoint(): until it has been waited for, the regions are read and must not
// change. For the thread that began it.
class PHALANX_EXPORT CheckpointCopy {
 public:
  // Of nothing: done.
  explicit CheckpointCopy(absl::Status status = absl::OkStatus());
  CheckpointCopy(CheckpointCopy&& other) noexcept;
  CheckpointCopy& operator=(CheckpointCopy&& other) noexcept;  // waits for the one before
  ~CheckpointCopy();                                           // waits

  // Blocks until the copy is taken, or never will be, and returns what View::Checkpoint() would
  // have. Again the same when called again.
  absl::Status Wait();

 private:
  friend class View;
  explicit CheckpointCopy(std::shared_ptr<api::SessionState> state);

  std::shared_ptr<api::SessionState> state_;  // null: done with status_
  absl::Status status_;
};

}  // namespace phalanx

#endif  // PHALANX_CHECKPOINT_COPY_H_
