#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "control_process/spawn.h"

namespace phalanx::control {

std::string RandomBytes(size_t bytes) {
  std::string result(bytes, '\0');
  size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = ::getrandom(result.data() + filled, bytes - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    PHX_CHECK_MSG(got > 0, "getrandom");
    filled += static_cast<size_t>(got);
  }
  return result;
}

uint64_t RandomNumber() {
  const std::string bytes = RandomBytes(sizeof(uint64_t));
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

std::string RandomJobId() {
  constexpr size_t kBytes = 6;
  return absl::BytesToHexString(RandomBytes(kBytes));
}

}  // namespace phalanx::control
