// Where a coordinator or an agent listens.
#ifndef PHALANX_CONTROL_PROTOCOL_ENDPOINT_H_
#define PHALANX_CONTROL_PROTOCOL_ENDPOINT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

struct Endpoint {
  std::string host;  // a name or an address, IPv6 without brackets
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

// "host:port", "[::1]:port". INVALID_ARGUMENT says what is wrong with the text.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text);
std::string ToString(const Endpoint& endpoint);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_ENDPOINT_H_
