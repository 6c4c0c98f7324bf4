// What an operation is called, equally on all of its members.
#ifndef PHALANX_ORDERING_NAMES_H_
#define PHALANX_ORDERING_NAMES_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace phalanx::ordering {

// Operations of one lane pair up by their number in it: the first on each member is one operation.
// A communicator's plain operations are one lane, so is each of its keys, so is each directed pair
// of ranks that sends and receives.
struct Lane {
  enum class Kind : uint8_t { kCommunicator, kKey, kPair };

  CommunicatorId communicator;
  Kind kind = Kind::kCommunicator;
  // kKey: the key's hash. kPair: source in the upper half, destination in the lower; ranks of the
  // view, not of the communicator.
  uint64_t detail = 0;

  static Lane Of(CommunicatorId communicator) { return {communicator, Kind::kCommunicator, 0}; }
  // 64 bits of hash stand for the key: two keys of one job collide with a probability of 1e-12 at
  // 6,000 keys, and a collision of unlike operations is still found by their signatures.
  static Lane OfKey(CommunicatorId communicator, std::string_view key);
  static Lane OfPair(CommunicatorId communicator, int source, int destination) {
    return {communicator, Kind::kPair,
            static_cast<uint64_t>(static_cast<uint32_t>(source)) << 32 |
                static_cast<uint32_t>(destination)};
  }

  int source() const { return static_cast<int>(detail >> 32); }
  int destination() const { return static_cast<int>(detail & 0xffffffffU); }

  auto operator<=>(const Lane&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const Lane& lane) {
    return H::combine(std::move(state), lane.communicator.value, lane.kind, lane.detail);
  }
};

struct OpName {
  Lane lane;
  uint64_t sequence = 0;  // from 0

  auto operator<=>(const OpName&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, const OpName& name) {
    return H::combine(std::move(state), name.lane, name.sequence);
  }
};

// "communicator 3, operation 17", "communicator 3, key 1f…, use 2", "communicator 3, message 4 from
// rank 0 to rank 1".
std::string Describe(const OpName& name);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_NAMES_H_
