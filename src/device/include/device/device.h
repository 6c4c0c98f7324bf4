// Where buffers live and work is queued. Host memory is the first implementation; CUDA comes behind
// the same interface.
#ifndef PHALANX_DEVICE_DEVICE_H_
#define PHALANX_DEVICE_DEVICE_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"

namespace phalanx::device {

// A moment in a stream's work. Copyable handle; thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool Happened() const = 0;
  // DEADLINE_EXCEEDED if it hasn't happened by then.
  virtual absl::Status Wait(Deadline deadline) const = 0;
};

// An ordered queue: each piece of work starts when the one before it has ended. Thread-safe.
class Stream {
 public:
  virtual ~Stream() = default;

  // Copies when the stream reaches it; the buffers stay the caller's until then.
  virtual absl::Status Copy(void* destination, const void* source, size_t bytes) = 0;
  // Runs `callback` on the stream's thread. It may not wait for work of the same stream.
  virtual absl::Status Enqueue(std::function<void()> callback) = 0;
  // The stream stops there until the event has happened (or until the stream is destroyed).
  virtual absl::Status WaitFor(std::shared_ptr<const Event> event) = 0;
  // An event that happens when everything queued so far has ended.
  virtual absl::StatusOr<std::shared_ptr<const Event>> Record() = 0;
  // Blocks until everything queued so far has ended. DEADLINE_EXCEEDED leaves it queued.
  virtual absl::Status Synchronize(Deadline deadline) = 0;
};

// An event that the engine sets, so that a stream can wait for a collective.
class ManualEvent : public Event {
 public:
  virtual void Set() = 0;  // once; later calls do nothing
};

class Device {
 public:
  virtual ~Device() = default;

  // 64-byte aligned, not zeroed. RESOURCE_EXHAUSTED when there isn't that much.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  virtual absl::Status Copy(void* destination, const void* source, size_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream() = 0;
  virtual std::shared_ptr<ManualEvent> CreateEvent() = 0;
};

// The machine's ordinary memory. Each of its streams has a thread, started with the first work.
// Destroying a stream ends the work in progress and drops the rest.
std::unique_ptr<Device> OpenHostDevice();

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_DEVICE_H_
