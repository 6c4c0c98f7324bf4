// A peer's memory as we see it: mapped for reading, and readable beyond its segment by cross-memory
// attach where the system lets us.
#ifndef PHALANX_SHM_PEER_SEGMENT_H_
#define PHALANX_SHM_PEER_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "segment.h"
#include "spi/group.h"

namespace phalanx::shm {

class PeerSegment {
 public:
  // FAILED_PRECONDITION when the file isn't the segment of that process and incarnation or lacks
  // its seals. The descriptor stays the caller's and may be closed afterwards.
  static absl::StatusOr<std::unique_ptr<PeerSegment>> Map(const spi::NodePeer& peer,
                                                          bool cross_memory_attach);
  ~PeerSegment();
  PeerSegment(const PeerSegment&) = delete;
  PeerSegment& operator=(const PeerSegment&) = delete;

  int rank() const { return rank_; }
  Incarnation incarnation() const { return incarnation_; }
  const SegmentHeader& header() const { return *reinterpret_cast<const SegmentHeader*>(base_); }

  // The peer's bytes at an offset that it told us; null when they aren't all inside its segment.
  const std::byte* At(uint64_t offset, uint64_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset ? base_ + offset : nullptr;
  }

  // Whether ReadPrivate() was found to work.
  bool reads_private_memory() const { return reads_private_memory_; }
  // Copies from any address of the peer. UNAVAILABLE when the peer is gone or the address is.
  absl::Status ReadPrivate(uint64_t address, size_t bytes, std::byte* destination) const;

  // False once the process has exited. A system call.
  bool Alive() const;

  // To be called after a value was loaded from `word`, which lies in this mapping. For
  // ThreadSanitizer, which knows addresses and not memory: when both sessions are in one process
  // it is told of the order that the owner's store, made through another mapping, has
  // established. Nothing in other builds.
  void Acquired(const void* word) const;

 private:
  PeerSegment(const spi::NodePeer& peer, const std::byte* base, uint64_t bytes, int pidfd);
  bool ProbePrivateMemory() const;

  const int rank_;
  const Incarnation incarnation_;
  const int pid_;
  const std::byte* const base_;
  const uint64_t bytes_;
  const int pidfd_;  // -1 if the system has none
  bool reads_private_memory_ = false;
};

#if defined(__SANITIZE_THREAD__)
#define PHALANX_SHM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PHALANX_SHM_THREAD_SANITIZER 1
#endif
#endif

#if !defined(PHALANX_SHM_THREAD_SANITIZER)
inline void PeerSegment::Acquired(const void*) const {}
#endif

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_PEER_SEGMENT_H_
