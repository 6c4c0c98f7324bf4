// Memory that the ranks of a node read from each other without a copy.
#ifndef PHALANX_MEMORY_H_
#define PHALANX_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "phalanx/export.h"

namespace phalanx {
namespace api {
class SessionState;
}  // namespace api

// Owns memory from Session::Allocate(): 4 KiB aligned, zeroed. Movable. Must not be freed while an
// operation uses it; may outlive its session.
class PHALANX_EXPORT Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer();

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t size() const { return bytes_; }  // bytes

 private:
  friend class Session;
  Buffer(std::shared_ptr<api::SessionState> owner, void* data, size_t bytes)
      : owner_(std::move(owner)), data_(data), bytes_(bytes) {}

  std::shared_ptr<api::SessionState> owner_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace phalanx

#endif  // PHALANX_MEMORY_H_
