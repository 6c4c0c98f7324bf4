#include "spi/link.h"

#include "absl/strings/str_cat.h"

namespace phalanx::spi {

absl::Status OtherOperation(int peer) {
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", peer, "'s message belongs to another operation than the one here"));
}

}  // namespace phalanx::spi
