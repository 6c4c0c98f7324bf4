#include "control_protocol/endpoint.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text) {
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no address: ", what, "; wanted host:port"));
  };
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return wrong("it has no port");
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return wrong("the port is not a number up to 65535");
  }
  absl::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != absl::string_view::npos) {
    return wrong("an IPv6 address needs brackets");
  }
  if (host.empty()) return wrong("it has no host");
  return Endpoint{std::string(host), static_cast<uint16_t>(port)};
}

std::string ToString(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return absl::StrCat(brackets ? "[" : "", endpoint.host, brackets ? "]" : "", ":", endpoint.port);
}

}  // namespace phalanx::control
