#include "peer_segment.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"

#if defined(PHALANX_SHM_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
#endif

namespace phalanx::shm {
namespace {

constexpr int kSealsWanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

absl::Status Refused(const spi::NodePeer& peer, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("shared memory of rank ", peer.rank, " (process ", peer.pid, "): ", why,
                   "; the descriptor must be the one that this incarnation gave"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerSegment>> PeerSegment::Map(const spi::NodePeer& peer,
                                                              bool cross_memory_attach) {
  struct stat file {};
  if (fstat(peer.segment_fd, &file) != 0) return Refused(peer, std::strerror(errno));
  // Seals first: without them the size could change under our feet.
  const int seals = fcntl(peer.segment_fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSealsWanted) != kSealsWanted) {
    return Refused(peer, "it isn't sealed against shrinking, growing and writing");
  }
  if (fstat(peer.segment_fd, &file) != 0 || file.st_size < static_cast<off_t>(kHeaderBytes)) {
    return Refused(peer, "it is smaller than a header");
  }
  const uint64_t bytes = static_cast<uint64_t>(file.st_size);
  void* const base =
      mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, peer.segment_fd, 0);
  if (base == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("shared memory of rank ", peer.rank, ": mmap of ", bytes,
                     " bytes failed: ", std::strerror(errno), "; lower the heap limit"));
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
  std::unique_ptr<PeerSegment> mapped(
      new PeerSegment(peer, static_cast<const std::byte*>(base), bytes, pidfd));
  const SegmentHeader& header = mapped->header();
  if (header.magic != kSegmentMagic || header.version != kSegmentVersion || header.bytes != bytes) {
    return Refused(peer, "its header is another program's or version's");
  }
  if (header.incarnation != peer.incarnation.value || header.pid != peer.pid) {
    return Refused(peer, "its header names another process or incarnation");
  }
  mapped->reads_private_memory_ = cross_memory_attach && mapped->ProbePrivateMemory();
  return mapped;
}

PeerSegment::PeerSegment(const spi::NodePeer& peer, const std::byte* base, uint64_t bytes,
                         int pidfd)
    : rank_(peer.rank),
      incarnation_(peer.incarnation),
      pid_(peer.pid),
      base_(base),
      bytes_(bytes),
      pidfd_(pidfd) {}

PeerSegment::~PeerSegment() {
  munmap(const_cast<std::byte*>(base_), bytes_);
  if (pidfd_ >= 0) close(pidfd_);
}

bool PeerSegment::ProbePrivateMemory() const {
  uint64_t incarnation = 0;
  const uint64_t address = header().base_address + offsetof(SegmentHeader, incarnation);
  return ReadPrivate(address, sizeof(incarnation), reinterpret_cast<std::byte*>(&incarnation))
             .ok() &&
         incarnation == incarnation_.value;
}

absl::Status PeerSegment::ReadPrivate(uint64_t address, size_t bytes,
                                      std::byte* destination) const {
  while (bytes > 0) {
    iovec local{destination, bytes};
    iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got <= 0) {
      if (got < 0 && errno == EINTR) continue;
      return absl::UnavailableError(absl::StrCat(
          "rank ", rank_, " (process ", pid_,
          "): its memory can't be read: ", got == 0 ? "nothing came" : std::strerror(errno),
          errno == ESRCH ? "; the process is gone" : "; it may be exiting"));
    }
    destination += got;
    address += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

bool PeerSegment::Alive() const {
  if (pidfd_ < 0) return kill(pid_, 0) == 0 || errno != ESRCH;
  pollfd exited{pidfd_, POLLIN, 0};
  return poll(&exited, 1, 0) <= 0;
}

#if defined(PHALANX_SHM_THREAD_SANITIZER)
void PeerSegment::Acquired(const void* word) const {
  if (pid_ != getpid()) return;
  const uint64_t offset = static_cast<uint64_t>(static_cast<const std::byte*>(word) - base_);
  __tsan_acquire(reinterpret_cast<void*>(header().base_address + offset));
}
#endif

}  // namespace phalanx::shm
