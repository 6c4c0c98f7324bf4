#include "segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "memory_limits.h"
#include "peer_segment.h"

namespace phalanx::shm {
namespace {

// Left to the rest of the machine by whoever commits memory.
constexpr uint64_t kReserveBytes = 64ull << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
constexpr int kAdvicePopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

absl::Status SystemError(const char* call, const char* remedy) {
  return absl::ResourceExhaustedError(
      absl::StrCat("shared memory: ", call, " failed: ", std::strerror(errno), "; ", remedy));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segment>> Segment::Create(Incarnation incarnation,
                                                         uint64_t limit_bytes) {
  const uint64_t granule = OffsetAllocator::kGranule;
  if (limit_bytes > static_cast<uint64_t>(INT64_MAX) - granule) {
    return absl::InvalidArgumentError("shared memory: the heap limit is beyond 8 EiB");
  }
  const uint64_t bytes = kHeaderBytes + (limit_bytes + granule - 1) / granule * granule;
  const int fd = memfd_create("phalanx", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return SystemError("memfd_create", "raise the limit of open files (ulimit -n)");
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const absl::Status error = SystemError("ftruncate", "lower the heap limit or raise ulimit -f");
    close(fd);
    return error;
  }
  void* const base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    const absl::Status error = SystemError("mmap", "lower the heap limit or raise ulimit -v");
    close(fd);
    return error;
  }
  std::unique_ptr<Segment> segment(new Segment(fd, static_cast<std::byte*>(base), bytes));
  // After our own mapping: it stays writable, no later one can be.
  if (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    return SystemError("sealing", "Linux 5.1 or later is needed");
  }
  PHX_RETURN_IF_ERROR(segment->Commit(kHeaderBytes));
  SegmentHeader& header = segment->header();
  header.magic = kSegmentMagic;
  header.version = kSegmentVersion;
  header.pid = getpid();
  header.incarnation = incarnation.value;
  header.bytes = bytes;
  header.base_address = reinterpret_cast<uint64_t>(base);
  return segment;
}

Segment::Segment(int fd, std::byte* base, uint64_t bytes)
    : fd_(fd), base_(base), bytes_(bytes), offsets_(kHeaderBytes, bytes) {}

Segment::~Segment() {
#if !defined(PHALANX_SHM_THREAD_SANITIZER)
  munmap(base_, bytes_);
#endif  // else PeerSegment::Acquired() of a peer in this process may still name an address of ours
  close(fd_);
}

absl::StatusOr<std::byte*> Segment::Allocate(uint64_t bytes, bool zeroed) {
  uint64_t offset = 0;
  uint64_t used_before = 0;  // the part of the range that may hold old bytes
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::optional<uint64_t> found = offsets_.Allocate(bytes);
    if (!found) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "shared memory: ", bytes, " bytes don't fit: ", offsets_.used(), " of ",
          bytes_ - kHeaderBytes, " bytes are taken; free buffers or raise the heap limit"));
    }
    offset = *found;
    const uint64_t old_committed = committed_;
    const uint64_t end = offset + std::max<uint64_t>(bytes, 1);
    if (absl::Status status = Commit(end); !status.ok()) {
      offsets_.Free(offset);
      return status;
    }
    used_before = std::min(end, std::max(old_committed, offset)) - offset;
  }
  if (zeroed && used_before > 0) std::memset(base_ + offset, 0, used_before);
  return base_ + offset;
}

void Segment::Free(const void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  offsets_.Free(OffsetOf(memory));
}

bool Segment::Contains(const void* memory, size_t bytes) const {
  const uint64_t at = reinterpret_cast<uint64_t>(memory);
  const uint64_t begin = reinterpret_cast<uint64_t>(base_);
  return at >= begin && at - begin <= bytes_ && bytes <= bytes_ - (at - begin);
}

// Backs [committed_, end) with pages: asked for before use, so that running out is an error here
// and not a SIGBUS later. mutex_ is held (or the segment is new).
absl::Status Segment::Commit(uint64_t end) {
  const uint64_t granule = OffsetAllocator::kGranule;
  end = (end + granule - 1) / granule * granule;
  if (end <= committed_) return absl::OkStatus();
  const uint64_t bytes = end - committed_;
  const uint64_t available = AvailableMemory();
  if (available < kReserveBytes || bytes > available - kReserveBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "shared memory: ", bytes, " more bytes are needed, the machine or its control group has ",
        available, " left (", kReserveBytes, " are kept free); use smaller or fewer buffers"));
  }
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(fd_, static_cast<off_t>(committed_), static_cast<off_t>(bytes));
  }
  if (error != 0) {
    errno = error;
    return SystemError("fallocate", "use smaller or fewer buffers");
  }
  // Page tables too, off the hot path. Older kernels refuse; then the first touch fills them.
  madvise(base_ + committed_, bytes, kAdvicePopulateWrite);
  committed_ = end;
  return absl::OkStatus();
}

}  // namespace phalanx::shm
