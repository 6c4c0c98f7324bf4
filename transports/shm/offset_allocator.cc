#include "offset_allocator.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace phalanx::shm {

OffsetAllocator::OffsetAllocator(uint64_t begin, uint64_t end) {
  PHX_CHECK(begin % kGranule == 0 && end % kGranule == 0 && begin <= end);
  if (begin < end) free_.emplace(begin, end - begin);
}

std::optional<uint64_t> OffsetAllocator::Allocate(uint64_t bytes) {
  if (bytes > UINT64_MAX - kGranule) return std::nullopt;
  const uint64_t size = std::max<uint64_t>((bytes + kGranule - 1) / kGranule * kGranule, kGranule);
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    if (gap->second < size) continue;
    const auto [offset, room] = *gap;
    free_.erase(gap);
    if (room > size) free_.emplace(offset + size, room - size);
    taken_.emplace(offset, size);
    used_ += size;
    return offset;
  }
  return std::nullopt;
}

void OffsetAllocator::Free(uint64_t offset) {
  const auto taken = taken_.find(offset);
  PHX_CHECK_MSG(taken != taken_.end(), "freed what isn't allocated");
  uint64_t size = taken->second;
  taken_.erase(taken);
  used_ -= size;

  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += size;
      return;
    }
  }
  free_.emplace(offset, size);
}

}  // namespace phalanx::shm
