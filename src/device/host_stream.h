// A queue of work on a thread of its own.
#ifndef PHALANX_DEVICE_HOST_STREAM_H_
#define PHALANX_DEVICE_HOST_STREAM_H_

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"
#include "host_event.h"

namespace phalanx::device {

class HostStream : public Stream {
 public:
  HostStream();
  ~HostStream() override;

  absl::Status Copy(void* destination, const void* source, size_t bytes) override;
  absl::Status Enqueue(std::function<void()> callback) override;
  absl::Status WaitFor(std::shared_ptr<const Event> event) override;
  absl::StatusOr<std::shared_ptr<const Event>> Record() override;
  uint64_t Position() const override;
  absl::Status Synchronize(Deadline deadline) override;

 private:
  friend class HostStreams;
  class Queue;  // shared with the thread and with the events that it waits for

  const std::shared_ptr<Queue> queue_;
};

// All streams of a device, each while its owner keeps it. Thread-safe.
class HostStreams {
 public:
  std::unique_ptr<Stream> Create();
  // See Device::Synchronize.
  absl::Status Synchronize(Deadline deadline);

 private:
  friend class HostStream;
  using Queues = std::vector<std::shared_ptr<HostStream::Queue>>;
  static absl::Status Synchronize(const Queues& queues, Deadline deadline);

  std::mutex mutex_;
  std::vector<std::weak_ptr<HostStream::Queue>> queues_;
};

}  // namespace phalanx::device

#endif  // PHALANX_DEVICE_HOST_STREAM_H_
