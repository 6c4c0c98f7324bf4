#include "ucx_interfaces.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "messaging/local_address.h"

namespace phalanx::ucx {

absl::StatusOr<Interfaces> FindInterfaces(const std::string& bind_address) {
  std::string wanted = bind_address;
  if (wanted.empty()) {
    const char* const devices = std::getenv("UCX_NET_DEVICES");
    if (devices != nullptr && std::strcmp(devices, "all") != 0) wanted = devices;
  }
  if (wanted.find(',') == std::string::npos) {
    PHX_ASSIGN_OR_RETURN(const auto local, messaging::FindLocalAddress(wanted));
    return Interfaces{local.interface, local.address};
  }
  const std::vector<std::string> names = absl::StrSplit(wanted, ',');
  for (const std::string& name : names) {
    const auto local = messaging::FindLocalAddress(name);
    if (local.ok()) return Interfaces{wanted, local->address};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("ucx: none of ", wanted, " is an interface with an IP address"));
}

}  // namespace phalanx::ucx
