// Where buffers live and work is queued. Host memory is the first implementation; CUDA comes behind
// the same interface.
#ifndef PHALANX_DEVICE_DEVICE_H_
#define PHALANX_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
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
  // DEADLINE_EXCEEDED if it hasn't happened by then; CANCELLED once it never can, since the stream
  // that was to reach it has been destroyed.
  virtual absl::Status Wait(Deadline deadline) const = 0;
};

// An ordered queue: each piece of work starts when the one before it has ended. Thread-safe, but
// for the destructor: nobody else may be using the stream, and it isn't called from the stream's
// thread. What adds work fails with RESOURCE_EXHAUSTED, and adds none, when the thread can't be
// started.
class Stream {
 public:
  virtual ~Stream() = default;

  // Copies when the stream reaches it; the buffers, which may overlap, are the stream's until it
  // has ended. INVALID_ARGUMENT for a null buffer with bytes > 0.
  virtual absl::Status Copy(void* destination, const void* source, size_t bytes) = 0;
  // Runs `callback` on the stream's thread. It may not throw, nor wait for work of the same stream.
  virtual absl::Status Enqueue(std::function<void()> callback) = 0;
  // The stream stops there until the event has happened (or until the stream is destroyed).
  // INVALID_ARGUMENT for no event, or one of another kind of device.
  virtual absl::Status WaitFor(std::shared_ptr<const Event> event) = 0;
  // An event that happens when everything queued so far has ended.
  virtual absl::StatusOr<std::shared_ptr<const Event>> Record() = 0;
  // Changes with every piece of work that is queued, and is never that of another stream: equal
  // answers mean that nothing came between.
  virtual uint64_t Position() const = 0;
  // Blocks until everything queued so far has ended. DEADLINE_EXCEEDED leaves it queued;
  // FAILED_PRECONDITION on the stream's own thread, which would wait for itself.
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

  // 64-byte aligned, not zeroed, never null (not for 0 bytes either). RESOURCE_EXHAUSTED when there
  // isn't that much. The caller's until Free, which also takes null.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  // At once, on the caller's thread; the buffers may overlap. INVALID_ARGUMENT for a null buffer
  // with bytes > 0.
  virtual absl::Status Copy(void* destination, const void* source, size_t bytes) = 0;
  // Streams and events outlive the device if need be.
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream() = 0;
  virtual std::shared_ptr<ManualEvent> CreateEvent() = 0;
  // Blocks until everything queued so far, on all streams, has ended. DEADLINE_EXCEEDED leaves it
  // queued; FAILED_PRECONDITION on a stream's own thread.
  virtual absl::Status Synchronize(Deadline deadline) = 0;
};

// The machine's ordinary memory. Each of its streams has a thread, started with the first work.
// Destroying a stream waits for the work in progress, if it isn't a WaitFor, and drops the rest.
std::unique_ptr<Device> OpenHostDevice();

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_DEVICE_H_
