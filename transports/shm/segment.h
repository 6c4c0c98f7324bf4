// The memory that a process shows to its peers: one memfd, mapped read-write here and read-only by
// everybody else, sealed so that no peer can shrink it or write to it. Everything that peers read
// (signals, slots, scratch, user buffers) lies in it, so one descriptor is exchanged, once.
#ifndef PHALANX_SHM_SEGMENT_H_
#define PHALANX_SHM_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "offset_allocator.h"

namespace phalanx::shm {

inline constexpr uint64_t kSegmentMagic = 0x31786e616c616870;  // "phalanx1"
inline constexpr uint32_t kSegmentVersion = 1;

enum class Reads : uint32_t { kUnknown = 0, kNo = 1, kYes = 2 };

// At offset 0. Written before the descriptor is given to anybody, but for the atomics.
struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  int32_t pid;
  uint64_t incarnation;
  uint64_t bytes;
  uint64_t base_address;            // where the owner has mapped the segment
  std::atomic<uint64_t> wire_area;  // offset of the owner's WireArea; 0 until there is one
  std::atomic<Reads>
      reads_private_memory;  // of every peer on the node; kUnknown until it has attached
};
inline constexpr uint64_t kHeaderBytes = 4096;
static_assert(sizeof(SegmentHeader) <= kHeaderBytes);

class Segment {
 public:
  // A sparse file of `limit_bytes`: address space, not memory.
  static absl::StatusOr<std::unique_ptr<Segment>> Create(Incarnation incarnation,
                                                         uint64_t limit_bytes);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int fd() const { return fd_; }
  std::byte* base() const { return base_; }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }

  // 4 KiB aligned memory that is committed, so a later touch can't fail; zeroed if `zeroed`.
  // RESOURCE_EXHAUSTED, nothing taken, when the limit, the machine or a control group hasn't that
  // much. Thread-safe, as is Free(); freed memory stays committed for later allocations (the seals
  // don't let it be punched out of the file).
  absl::StatusOr<std::byte*> Allocate(uint64_t bytes, bool zeroed);
  void Free(const void* memory);

  bool Contains(const void* memory, size_t bytes) const;
  // Of memory that the segment contains.
  uint64_t OffsetOf(const void* memory) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(memory) - base_);
  }

 private:
  Segment(int fd, std::byte* base, uint64_t bytes);
  absl::Status Commit(uint64_t end);

  const int fd_;
  std::byte* const base_;
  const uint64_t bytes_;
  std::mutex mutex_;
  OffsetAllocator offsets_;  // guarded by mutex_
  uint64_t committed_ = 0;   // guarded by mutex_: [0, committed_) has pages behind it
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_SEGMENT_H_
