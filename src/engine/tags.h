// How the 64 bits of a message's tag are used: communicator, sequence, step.
//
//   63 … 48  communicator
//   47       1: a send/receive pair, numbered per directed pair of ranks; 0: part of a collective
//   46 … 24  sequence, modulo 2^23: far more than can be in flight at once
//   23 …  0  step: round × messages per round + message
#ifndef PHALANX_ENGINE_TAGS_H_
#define PHALANX_ENGINE_TAGS_H_

#include <cstdint>

#include "base/ids.h"
#include "spi/link.h"

namespace phalanx::engine {

inline constexpr int kStepBits = 24;
inline constexpr int kSequenceBits = 23;

// The tag of an operation's first message.
constexpr spi::MessageTag FirstTag(CommunicatorId communicator, bool pair, uint64_t sequence) {
  return (uint64_t{communicator.value} << 48) | (uint64_t{pair} << 47) |
         ((sequence & ((uint64_t{1} << kSequenceBits) - 1)) << kStepBits);
}

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_TAGS_H_
