#include "outbox.h"

#include "absl/status/statusor.h"
#include "control_protocol/frame.h"

namespace phalanx::control {

bool Outbox::Post(const Message& message) {
  const std::string frame = Frame(Encode(message));
  const std::lock_guard lock(mutex_);
  const bool was_empty = bytes_.empty();
  bytes_ += frame;
  if (!was_empty) return false;
  FlushLocked();
  return !bytes_.empty();
}

void Outbox::Flush() {
  const std::lock_guard lock(mutex_);
  FlushLocked();
}

bool Outbox::empty() const {
  const std::lock_guard lock(mutex_);
  return bytes_.empty();
}

void Outbox::FlushLocked() {
  const absl::StatusOr<size_t> sent =
      connection_->SendSome(absl::string_view(bytes_).substr(sent_));
  // When the agent is gone the reader finds out.
  sent_ = sent.ok() ? sent_ + *sent : bytes_.size();
  if (sent_ < bytes_.size()) return;
  bytes_.clear();
  sent_ = 0;
}

}  // namespace phalanx::control
