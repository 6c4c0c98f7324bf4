#include "keyed_record/etcd_url.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace phalanx::control {
namespace {

bool IsHost(absl::string_view host) {
  if (host.empty()) return false;
  const bool bracketed = host.front() == '[';
  if (bracketed && (host.size() < 4 || host.back() != ']')) return false;
  const absl::string_view name = bracketed ? host.substr(1, host.size() - 2) : host;
  return name.find_first_of(bracketed ? "/@[]% \t" : "/@[]:% \t") == absl::string_view::npos;
}

bool IsEndpoint(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return false;
  const absl::string_view digits = text.substr(colon + 1);
  uint32_t port = 0;
  return IsHost(text.substr(0, colon)) &&
         digits.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(digits, &port) && port > 0 && port <= 65535;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseEtcdUrl(absl::string_view url) {
  absl::string_view rest = url;
  if (!absl::ConsumePrefix(&rest, "etcd://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", url, "'; wanted etcd://HOST:PORT[,HOST:PORT…]"));
  }
  std::vector<std::string> endpoints;
  for (const absl::string_view endpoint : absl::StrSplit(absl::StripSuffix(rest, "/"), ',')) {
    if (!IsEndpoint(endpoint)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", url, "': '", endpoint, "' isn't HOST:PORT; wanted etcd://HOST:PORT[,HOST:PORT…]"));
    }
    endpoints.emplace_back(endpoint);
  }
  return endpoints;
}

}  // namespace phalanx::control
