#include "phalanx/checkpoint_copy.h"

#include <utility>

#include "session_state.h"

namespace phalanx {

CheckpointCopy::CheckpointCopy(absl::Status status) : status_(std::move(status)) {}

CheckpointCopy::CheckpointCopy(std::shared_ptr<api::SessionState> state)
    : state_(std::move(state)) {}

CheckpointCopy::CheckpointCopy(CheckpointCopy&& other) noexcept
    : state_(std::move(other.state_)), status_(std::exchange(other.status_, absl::OkStatus())) {}

CheckpointCopy& CheckpointCopy::operator=(CheckpointCopy&& other) noexcept {
  if (this == &other) return *this;
  Wait().IgnoreError();
  state_ = std::move(other.state_);
  status_ = std::exchange(other.status_, absl::OkStatus());
  return *this;
}

CheckpointCopy::~CheckpointCopy() { Wait().IgnoreError(); }

absl::Status CheckpointCopy::Wait() {
  if (state_ != nullptr) status_ = std::exchange(state_, nullptr)->saver().EndSave();
  return status_;
}

}  // namespace phalanx
