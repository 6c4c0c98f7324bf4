// An ordered queue of work on a device. On host memory it is run by a thread of its own.
#ifndef PHALANX_STREAM_H_
#define PHALANX_STREAM_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "phalanx/export.h"

namespace phalanx {
namespace device {
class Stream;
}  // namespace device

// From Session::CreateStream(); destroyed before its session. Thread-safe. Work that is given a
// stream (OpOptions::stream) starts when the stream reaches it, and what is queued behind waits for
// its end.
class PHALANX_EXPORT Stream {
 public:
  explicit Stream(std::unique_ptr<device::Stream> stream);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues a copy; both buffers stay the caller's until the stream has passed it.
  absl::Status Copy(void* destination, const void* source, size_t bytes);
  // Queues a call. It runs on the stream's thread and may not wait for work of the same stream.
  absl::Status Enqueue(std::function<void()> callback);
  // Blocks until all that is queued so far has ended; DEADLINE_EXCEEDED leaves it queued.
  absl::Status Synchronize(std::chrono::nanoseconds timeout);

  device::Stream& device_stream() const { return *stream_; }  // for the library

 private:
  std::unique_ptr<device::Stream> stream_;
};

}  // namespace phalanx

#endif  // PHALANX_STREAM_H_
