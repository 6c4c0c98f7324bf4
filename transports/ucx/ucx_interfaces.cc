#include "ucx_interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace phalanx::ucx {
namespace {

socklen_t FamilyLength(int family) {
  if (family == AF_INET) return sizeof(sockaddr_in);
  if (family == AF_INET6) return sizeof(sockaddr_in6);
  return 0;
}

bool HasAddress(const ifaddrs& interface, int family, const void* wanted) {
  if (interface.ifa_addr->sa_family != family) return false;
  if (family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(interface.ifa_addr);
    return std::memcmp(&address->sin_addr, wanted, sizeof(in_addr)) == 0;
  }
  const auto* address = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
  return std::memcmp(&address->sin6_addr, wanted, sizeof(in6_addr)) == 0;
}

// The first address of an interface that is up, IPv4 before IPv6, for which `matches`.
template <typename Matches>
bool FindAddress(Matches matches, Interfaces* found) {
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
    found->devices = chosen->ifa_name;
    found->listen_on = {};
    std::memcpy(&found->listen_on, chosen->ifa_addr, FamilyLength(chosen->ifa_addr->sa_family));
  }
  freeifaddrs(all);
  return chosen != nullptr;
}

absl::StatusOr<Interfaces> OfDevices(const std::string& devices) {
  Interfaces found;
  const std::vector<std::string> names = absl::StrSplit(devices, ',');
  for (const std::string& device : names) {
    if (FindAddress([&](const ifaddrs& one) { return device == one.ifa_name; }, &found)) {
      found.devices = devices;
      return found;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("ucx: none of ", devices,
                   " is an interface with an IP address, nor an address of this machine"));
}

}  // namespace

socklen_t AddressLength(const sockaddr_storage& address) { return FamilyLength(address.ss_family); }

absl::StatusOr<Interfaces> FindInterfaces(const std::string& bind_address) {
  Interfaces found;
  if (bind_address.empty()) {
    const char* const devices = std::getenv("UCX_NET_DEVICES");
    if (devices != nullptr && std::strcmp(devices, "all") != 0) return OfDevices(devices);
    const auto loopback = [](const ifaddrs& one) { return (one.ifa_flags & IFF_LOOPBACK) != 0; };
    if (FindAddress(loopback, &found)) return found;
    return absl::UnimplementedError("ucx: no loopback interface is up");
  }
  in6_addr binary;
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, bind_address.c_str(), &binary) != 1) continue;
    if (FindAddress([&](const ifaddrs& one) { return HasAddress(one, family, &binary); }, &found)) {
      return found;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("ucx: no interface of this machine has the address ", bind_address));
  }
  return OfDevices(bind_address);
}

}  // namespace phalanx::ucx
