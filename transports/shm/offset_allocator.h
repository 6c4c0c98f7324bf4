// Divides a range of offsets: lowest fit, neighbours joined when freed. Knows no memory, so it is
// tested on numbers alone. Not thread-safe.
#ifndef PHALANX_SHM_OFFSET_ALLOCATOR_H_
#define PHALANX_SHM_OFFSET_ALLOCATOR_H_

#include <cstdint>
#include <map>
#include <optional>

namespace phalanx::shm {

class OffsetAllocator {
 public:
  static constexpr uint64_t kGranule = 4096;

  // Hands out [begin, end), both multiples of kGranule.
  OffsetAllocator(uint64_t begin, uint64_t end);

  // The lowest free range of `bytes`, rounded up to whole granules (at least one); nothing when no
  // gap is that large.
  std::optional<uint64_t> Allocate(uint64_t bytes);
  // `offset` is one that Allocate() returned and that hasn't been freed since.
  void Free(uint64_t offset);

  uint64_t used() const { return used_; }

 private:
  std::map<uint64_t, uint64_t> free_;   // offset → bytes, never adjacent
  std::map<uint64_t, uint64_t> taken_;  // offset → bytes
  uint64_t used_ = 0;
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_OFFSET_ALLOCATOR_H_
