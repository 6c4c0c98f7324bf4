#include "snapshot_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"

namespace phalanx::control {
namespace {

absl::Status Exhausted(const char* call) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory to save a state in: ", call, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SnapshotMemory>> SnapshotMemory::Create(uint64_t bytes) {
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<SnapshotMemory> memory, Make(bytes, PROT_READ));
  return std::shared_ptr<const SnapshotMemory>(std::move(memory));
}

absl::StatusOr<std::unique_ptr<SnapshotMemory>> SnapshotMemory::CreateForUs(uint64_t bytes) {
  return Make(bytes, PROT_READ | PROT_WRITE);
}

absl::StatusOr<std::unique_ptr<SnapshotMemory>> SnapshotMemory::Make(uint64_t bytes,
                                                                     int protection) {
  struct sysinfo machine {};
  if (::sysinfo(&machine) == 0 && bytes > uint64_t{machine.totalram} * machine.mem_unit) {
    return absl::ResourceExhaustedError(absl::StrCat("a copy of the state needs ", bytes,
                                                     " bytes, more than the machine's memory"));
  }
  Fd fd(::memfd_create("phalanx-checkpoint", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Exhausted("memfd_create");
  // A mapping of nothing isn't possible.
  const uint64_t length = std::max<uint64_t>(bytes, 1);
  if (::ftruncate(fd.get(), static_cast<off_t>(length)) != 0) return Exhausted("ftruncate");
  // A writer that made it shorter would kill its readers.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Exhausted("fcntl");
  }
  void* const data = ::mmap(nullptr, length, protection, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return Exhausted("mmap");
  return std::unique_ptr<SnapshotMemory>(
      new SnapshotMemory(std::make_shared<const Fd>(std::move(fd)), data, bytes));
}

SnapshotMemory::~SnapshotMemory() { ::munmap(data_, std::max<uint64_t>(bytes_, 1)); }

absl::StatusOr<SharedFd> SnapshotMemory::ForReading() const {
  Fd fd(::open(absl::StrCat("/proc/self/fd/", fd_->get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::UnavailableError(absl::StrCat("open: ", strerror(errno)));
  return std::make_shared<const Fd>(std::move(fd));
}

uint64_t SnapshotMemory::bytes_taken() const {
  constexpr uint64_t kBlockBytes = 512;  // of stat, whatever the file system's are
  struct stat file {};
  return ::fstat(fd_->get(), &file) == 0 ? static_cast<uint64_t>(file.st_blocks) * kBlockBytes : 0;
}

absl::Status SnapshotMemory::FlipBit() const {
  const auto middle = static_cast<off_t>(bytes_ / 2);
  char byte = 0;
  bool done = ::pread(fd_->get(), &byte, 1, middle) == 1;
  byte = static_cast<char>(byte ^ 1);
  done = done && ::pwrite(fd_->get(), &byte, 1, middle) == 1;
  return done ? absl::OkStatus() : absl::UnavailableError(strerror(errno));
}

checkpoint::Digest SnapshotMemory::ComputeDigest() const {
  return checkpoint::DigestOf(data_, bytes_);
}

}  // namespace phalanx::control
