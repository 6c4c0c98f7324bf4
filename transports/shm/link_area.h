// What a wire shows to its peers: the layout of its memory for point-to-point messages. For each
// link, each side has an area in its own segment: as a sender it lists messages there, as a
// receiver it lists what it is done with. Only the owner writes.
#ifndef PHALANX_SHM_LINK_AREA_H_
#define PHALANX_SHM_LINK_AREA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace phalanx::shm {

// Places of the list of messages, and of acknowledgements: how far one side may be ahead of what
// the other has taken from the list into its own memory.
inline constexpr uint32_t kPlaces = 1024;
// Small messages are copied, so that their sender needn't wait: the smallest into the list itself,
// others into boxes while there are free ones.
inline constexpr size_t kTinyBytes = 16;
inline constexpr size_t kBoxBytes = 8 * 1024;
inline constexpr int kBoxes = 64;
// Copied messages that no receive has asked for yet, at most: they count as sent, so their number
// bounds the receiver's memory.
inline constexpr uint32_t kMaxCopied = 1024;
// Private memory that the receiver can't read passes through a window of chunks.
inline constexpr size_t kChunkBytes = 128 * 1024;
inline constexpr uint32_t kChunks = 4;
// Links of one wire, over its whole life.
inline constexpr uint32_t kMaxLinks = 1024;

enum class MessageKind : uint32_t {
  kTiny,     // in the descriptor
  kMapped,   // `where` is an offset in the sender's segment
  kAddress,  // `where` is an address in the sender's private memory
  kWindow,   // through the window, when the receiver asks for it
};

struct alignas(64) MessageDescriptor {
  // Position in the list, from 1 on; written last.
  std::atomic<uint32_t> sequence;
  uint32_t id;  // for the acknowledgement
  uint64_t tag_number;
  uint64_t tag_space;
  uint64_t length;
  uint64_t where;
  MessageKind kind;
  uint32_t check;
  std::byte tiny[kTinyBytes];
};
static_assert(sizeof(MessageDescriptor) == 64);

enum class LinkEnd : uint32_t {
  kOpen = 0,
  kClosed,   // in order: what is listed may still be read
  kRefused,  // by the handshake
  kDiffers,  // by a message that isn't what its receive expects
  kBroken,   // by an error or an abort: private and mapped messages may have changed since
};

struct LinkArea {
  alignas(64) std::atomic<LinkEnd> end;
  std::atomic<uint32_t> reads_private_memory;  // of the peer; set before the area is announced
  // As a receiver: a request for a message to come through the window (number << 32 | id), and how
  // many chunks of the window we are done with, all messages together.
  alignas(64) std::atomic<uint64_t> window_request;
  std::atomic<uint32_t> drained_chunks;
  std::atomic<uint32_t> taken_messages;  // from the peer's list
  // As a sender.
  alignas(64) std::atomic<uint32_t> filled_chunks;
  std::atomic<uint32_t> taken_acknowledgements;  // from the peer's list
  uint64_t window_offset;                        // in the segment; written before the first chunk
  // Acknowledged ids in order: position << 32 | id, positions from 1 on.
  alignas(64) std::atomic<uint64_t> acknowledged[kPlaces];
  MessageDescriptor messages[kPlaces];
  std::byte boxes[kBoxes][kBoxBytes];
};

struct WireArea {
  // Who we are; readable once `known`.
  alignas(64) std::atomic<uint32_t> known;
  int32_t rank;
  uint64_t job_token;
  uint64_t epoch;
  uint64_t incarnation;
  // 1 while the owner sleeps on this very word.
  alignas(64) std::atomic<uint32_t> parked;
  // Our link areas: `offset` is written last, entries are never taken back.
  struct Entry {
    uint64_t peer_incarnation;  // of its segment
    std::atomic<uint64_t> offset;
  };
  alignas(64) Entry links[kMaxLinks];
};

// A load that isn't made before the plain reads ahead of it in the program, which an acquiring load
// alone doesn't promise: whether what was read was still what its owner meant.
template <typename T>
T LoadAfterReads(const std::atomic<T>& word) {
#if defined(__aarch64__)
  asm volatile("dmb ishld" ::: "memory");
#else
  asm volatile("" ::: "memory");  // x86 doesn't reorder loads
#endif
  return word.load(std::memory_order_seq_cst);
}

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_LINK_AREA_H_
