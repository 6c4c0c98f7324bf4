// How the 128 bits of a message's tag are used: the space is the key's hash, or 0 without a key;
// the number is communicator, class, sequence, step.
//
//   63 … 48  communicator
//   47 … 46  class: part of a collective, of a keyed one, or a send/receive pair
//   45 … 24  sequence, modulo 2^22: far more than can be in flight at once. Collectives count on
//            their communicator, keyed ones on their key, pairs on their directed pair of ranks
//   23 …  0  step: round × messages per round + message
#ifndef PHALANX_ENGINE_TAGS_H_
#define PHALANX_ENGINE_TAGS_H_

#include <cstdint>

#include "base/ids.h"
#include "spi/link.h"

namespace phalanx::engine {

inline constexpr int kStepBits = 24;
inline constexpr int kSequenceBits = 22;

enum class TagClass : uint64_t { kCollective = 0, kKeyed = 1, kPair = 2 };

// The tag of an operation's first message.
constexpr spi::MessageTag FirstTag(CommunicatorId communicator, TagClass tag_class,
                                   uint64_t key_hash, uint64_t sequence) {
  const uint64_t number = (uint64_t{communicator.value} << 48) |
                          (static_cast<uint64_t>(tag_class) << 46) |
                          ((sequence & ((uint64_t{1} << kSequenceBits) - 1)) << kStepBits);
  return {number, key_hash};
}

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_TAGS_H_
