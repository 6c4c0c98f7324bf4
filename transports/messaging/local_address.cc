#include "messaging/local_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace phalanx::messaging {
namespace {

socklen_t FamilyLength(int family) {
  if (family == AF_INET) return sizeof(sockaddr_in);
  if (family == AF_INET6) return sizeof(sockaddr_in6);
  return 0;
}

bool HasAddress(const ifaddrs& interface, int family, const in6_addr& wanted) {
  if (interface.ifa_addr->sa_family != family) return false;
  if (family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(interface.ifa_addr);
    return std::memcmp(&address->sin_addr, &wanted, sizeof(in_addr)) == 0;
  }
  const auto* address = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
  return std::memcmp(&address->sin6_addr, &wanted, sizeof(in6_addr)) == 0;
}

// The first address of an interface that is up for which `matches`, IPv4 before IPv6.
template <typename Matches>
bool FindAddress(Matches matches, LocalAddress* found) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  const ifaddrs* chosen = nullptr;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr && chosen == nullptr; one = one->ifa_next) {
      if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == family &&
          (one->ifa_flags & IFF_UP) != 0 && matches(*one)) {
        chosen = one;
      }
    }
  }
  if (chosen != nullptr) {
    found->interface = chosen->ifa_name;
    found->address = {};
    std::memcpy(&found->address, chosen->ifa_addr, FamilyLength(chosen->ifa_addr->sa_family));
  }
  freeifaddrs(all);
  return chosen != nullptr;
}

}  // namespace

socklen_t AddressLength(const sockaddr_storage& address) { return FamilyLength(address.ss_family); }

absl::StatusOr<LocalAddress> FindLocalAddress(const std::string& wanted) {
  LocalAddress found;
  if (wanted.empty()) {
    const auto loopback = [](const ifaddrs& one) { return (one.ifa_flags & IFF_LOOPBACK) != 0; };
    if (FindAddress(loopback, &found)) return found;
    return absl::UnimplementedError("no loopback interface is up");
  }
  in6_addr binary;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, wanted.c_str(), &binary) != 1) continue;
    const auto has_it = [&](const ifaddrs& one) { return HasAddress(one, family, binary); };
    if (FindAddress(has_it, &found)) return found;
    return absl::InvalidArgumentError(
        absl::StrCat("no interface of this machine that is up has the address ", wanted));
  }
  if (FindAddress([&](const ifaddrs& one) { return wanted == one.ifa_name; }, &found)) return found;
  return absl::InvalidArgumentError(
      absl::StrCat(wanted, " is neither an address of this machine nor an interface with one"));
}

}  // namespace phalanx::messaging
