#include "phalanx/stream.h"

#include <utility>

#include "base/deadline.h"
#include "device/device.h"

namespace phalanx {

Stream::Stream(std::unique_ptr<device::Stream> stream) : stream_(std::move(stream)) {}
Stream::~Stream() = default;

absl::Status Stream::Copy(void* destination, const void* source, size_t bytes) {
  return stream_->Copy(destination, source, bytes);
}

absl::Status Stream::Enqueue(std::function<void()> callback) {
  return stream_->Enqueue(std::move(callback));
}

absl::Status Stream::Synchronize(std::chrono::nanoseconds timeout) {
  return stream_->Synchronize(Deadline::After(timeout));
}

}  // namespace phalanx
