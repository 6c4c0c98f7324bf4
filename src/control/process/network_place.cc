#include "control_process/network_place.h"

#include <sched.h>
#include <sys/mount.h>

namespace phalanx::control {

bool EnterNetwork(const NetworkPlace& place) {
  if (place.network < 0) return true;
  if (place.user >= 0 && ::setns(place.user, CLONE_NEWUSER) != 0) return false;
  if (::setns(place.network, CLONE_NEWNET) != 0) return false;
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  // Refused inside of some containers, where the old view is better than none.
  [[maybe_unused]] const int mounted = ::mount("sysfs", "/sys", "sysfs", 0, nullptr);
  return true;
}

}  // namespace phalanx::control
