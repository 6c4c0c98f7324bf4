// Memory of a file descriptor in this process's address space.
#ifndef PHALANX_API_MAPPING_H_
#define PHALANX_API_MAPPING_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"

namespace phalanx::api {

class Mapping {
 public:
  enum class Use {
    kRead,
    kWrite,
  };
  // The whole file, shared; the descriptor may be closed then. INVALID_ARGUMENT: it is shorter than
  // `bytes`. RESOURCE_EXHAUSTED: it can't be mapped.
  static absl::StatusOr<Mapping> Map(int fd, size_t bytes, Use use);

  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  // Takes the pages, so that no later write has to wait for them. Takes as long as writing to them
  // for the first time; may run beside other uses.
  void Touch() const;

  std::byte* data() const { return data_; }

 private:
  Mapping(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_MAPPING_H_
