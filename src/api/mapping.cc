#include "mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace phalanx::api {

absl::StatusOr<Mapping> Mapping::Map(int fd, size_t bytes, Use use) {
  struct stat file {};
  if (::fstat(fd, &file) != 0 || static_cast<size_t>(file.st_size) < bytes) {
    return absl::InvalidArgumentError("the agent gave less memory than it said");
  }
  const size_t length = std::max<size_t>(bytes, 1);
  const int protection = use == Use::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data = ::mmap(nullptr, length, protection, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("mapping ", bytes, " bytes of the agent's: ", strerror(errno)));
  }
  return Mapping(static_cast<std::byte*>(data), length);
}

void Mapping::Touch() const {
  // An older kernel leaves them to the first write.
  const int ignored = ::madvise(data_, bytes_, MADV_POPULATE_WRITE);
  static_cast<void>(ignored);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace phalanx::api
