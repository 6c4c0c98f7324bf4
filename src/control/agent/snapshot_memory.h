// Memory in which one process (a worker, or this one) writes a copy of a state and others read it:
// without a name, so that nothing is left behind, and of a fixed size.
#ifndef PHALANX_CONTROL_AGENT_SNAPSHOT_MEMORY_H_
#define PHALANX_CONTROL_AGENT_SNAPSHOT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "checkpoint/version.h"
#include "worker_connection.h"

namespace phalanx::control {

class SnapshotMemory {
 public:
  // Takes no memory until it is written. RESOURCE_EXHAUSTED: no descriptors, or more bytes than
  // the machine has.
  static absl::StatusOr<std::shared_ptr<const SnapshotMemory>> Create(uint64_t bytes);
  // For this process to write, by data().
  static absl::StatusOr<std::unique_ptr<SnapshotMemory>> CreateForUs(uint64_t bytes);
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  uint64_t bytes() const { return bytes_; }
  // Of which the machine has given so many, in pages.
  uint64_t bytes_taken() const;
  const std::byte* data() const { return data_; }
  std::byte* data() { return data_; }  // of CreateForUs() alone
  // For the process that writes.
  const SharedFd& fd() const { return fd_; }
  // For one that reads only. UNAVAILABLE: no descriptors.
  absl::StatusOr<SharedFd> ForReading() const;
  // For tests of what finds that: the one in the middle.
  absl::Status FlipBit() const;
  // Of all bytes as they are now; any thread.
  checkpoint::Digest ComputeDigest() const;

 private:
  SnapshotMemory(SharedFd fd, void* data, uint64_t bytes)
      : fd_(std::move(fd)), data_(static_cast<std::byte*>(data)), bytes_(bytes) {}
  static absl::StatusOr<std::unique_ptr<SnapshotMemory>> Make(uint64_t bytes, int protection);

  const SharedFd fd_;
  std::byte* const data_;
  const uint64_t bytes_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_SNAPSHOT_MEMORY_H_
