// What a member of a group shows to the others: the layout of its control block, in its own
// segment. Only the owner writes. Counters rise from operation to operation and are compared modulo
// 2^32, so nothing is ever reset.
#ifndef PHALANX_SHM_GROUP_BLOCK_H_
#define PHALANX_SHM_GROUP_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/region.h"
#include "spi/group.h"

namespace phalanx::shm {

// Words that peers wait on: the signals, and how many operations the owner has entered.
inline constexpr int kEnteredWord = spi::kMaxSignals;
inline constexpr int kWordCount = spi::kMaxSignals + 1;

// Operations whose descriptor and staged bytes exist at once. The slot of operation s is written
// again by operation s + kOperationSlots, once every peer has entered s + 1.
inline constexpr uint32_t kOperationSlots = 4;
// Operations whose check is shown to members that wait.
inline constexpr uint32_t kShownChecks = 2;
// Chunks of one region that exist at once when private memory has to be copied for readers.
inline constexpr uint32_t kWindowChunks = 4;

// Where the counters start: shortly before they wrap, so that every group wraps, tests included.
inline constexpr uint32_t kFirstCount = 0u - 64u;

// Whether a counter that stands at `count` has reached `target`.
inline bool HasReached(uint32_t count, uint32_t target) {
  return static_cast<int32_t>(count - target) >= 0;
}

enum class RegionKind : uint8_t {
  kMapped,   // `where` is an offset in the segment
  kAddress,  // `where` is an address in the owner's private memory, for cross-memory attach
  kWindow,   // chunks are copied to the region's window
};

// Ranges of a region whose bytes lie packed, one range behind the other.
struct PackedRanges {
  uint64_t offset;  // of the first, in the region
  uint64_t stride;
  uint64_t bytes;  // of each
  uint32_t count;
};

// Where, behind the start of the packed bytes, a wanted range lies; nothing if they don't hold it.
inline std::optional<uint64_t> PositionIn(const PackedRanges& ranges, uint64_t offset,
                                          uint64_t bytes) {
  if (offset < ranges.offset) return std::nullopt;
  const uint64_t behind = offset - ranges.offset;
  const uint64_t index = ranges.count > 1 && ranges.stride > 0 ? behind / ranges.stride : 0;
  const uint64_t within = behind - index * ranges.stride;
  if (index >= ranges.count || within > ranges.bytes || bytes > ranges.bytes - within) {
    return std::nullopt;
  }
  return index * ranges.bytes + within;
}

struct StagedRanges {
  PackedRanges ranges;
  uint32_t position;  // of the packed bytes in the slot's
  Region region;
  uint32_t round;  // absolute
};

struct alignas(64) OperationSlot {
  StagedRanges more[spi::kMaxStagedPublications - 1];
  alignas(64) uint64_t where[kRegionCount];
  RegionKind kind[kRegionCount];
  // Last before the bytes, so that a small message costs its reader neighbouring lines.
  alignas(64) StagedRanges first;
  std::atomic<uint32_t> staged_count;
  uint32_t check;
  uint64_t factor_bits;
  alignas(64) std::byte staged[spi::kMaxStagedBytes];

  StagedRanges& staged_ranges(uint32_t i) { return i == 0 ? first : more[i - 1]; }
  const StagedRanges& staged_ranges(uint32_t i) const { return i == 0 ? first : more[i - 1]; }
};

// A round's chunk of private memory in a window. `key` is written last and says whose it is.
struct WindowChunk {
  std::atomic<uint64_t> key;
  PackedRanges ranges;
  uint64_t position;  // of the packed bytes in the segment
};
inline uint64_t WindowKey(uint32_t absolute_round) { return uint64_t{absolute_round} << 1 | 1; }

struct GroupBlock {
  // Polled by peers, written at every signal.
  alignas(64) std::atomic<uint32_t> words[kWordCount];
  // Read by peers at every signal of theirs, written when the owner goes to sleep: which peer's
  // word it sleeps on (ParkedOn), or 0.
  alignas(64) std::atomic<uint32_t> parked;
  // 1 once the owner has taken back memory that peers may be reading.
  std::atomic<uint32_t> withdrawn;
  // Unique to this block while its group lives, 0 afterwards.
  alignas(64) std::atomic<uint64_t> life;
  // What the owner's last operations are, by number modulo the size: number << 32 | check. Not
  // beside the words: whoever polls those would take the line away between our stores.
  std::atomic<uint64_t> checks[kShownChecks];
  alignas(64) OperationSlot slots[kOperationSlots];
  WindowChunk windows[kRegionCount][kWindowChunks];
};

inline uint32_t ParkedOn(int peer, int word) {
  return static_cast<uint32_t>(word) << 24 | static_cast<uint32_t>(peer + 1);
}

// What PrepareGroup() hands to the other members.
struct PreparedBlock {
  uint64_t offset;
  uint64_t life;
  uint64_t incarnation;
  uint32_t size;
};
static_assert(sizeof(PreparedBlock) <= 64);

static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<uint32_t>) == 4 && sizeof(std::atomic<uint64_t>) == 8);

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_GROUP_BLOCK_H_
