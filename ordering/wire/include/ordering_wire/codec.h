// The ordering service's messages as bytes.
#ifndef PHALANX_ORDERING_WIRE_CODEC_H_
#define PHALANX_ORDERING_WIRE_CODEC_H_

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "ordering/messages.h"

namespace phalanx::ordering {

// Who belongs to a communicator, which a Report of it needs: every member says so to its node, and
// the node once to the sequencer, before any operation of it.
struct NewCommunicator {
  CommunicatorId id;
  std::vector<int> members;  // ranks of the view, in the communicator's order

  bool operator==(const NewCommunicator&) const = default;
};

// rank → node → sequencer
using Uplink = std::variant<Report, NewCommunicator>;
// sequencer → node → rank
using Downlink = Order;

// Bounds that the decoder holds. A text beyond its bound is cut by the encoder.
inline constexpr int kMostRanks = 65536;
inline constexpr size_t kLongestText = 512;
// Of everything that a message lists, all together.
inline constexpr size_t kMostElements = size_t{1} << 17;

std::string Encode(const Uplink& message);
std::string Encode(const Downlink& message);

// Any bytes are safe to pass. INVALID_ARGUMENT when they are not a well-formed message of this
// direction within its bounds. What is accepted need not make sense in a job: see Registry.
absl::StatusOr<Uplink> DecodeUplink(absl::string_view bytes);
absl::StatusOr<Downlink> DecodeDownlink(absl::string_view bytes);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_WIRE_CODEC_H_
