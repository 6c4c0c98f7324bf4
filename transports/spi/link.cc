#include "spi/link.h"

#include "absl/strings/str_cat.h"

namespace phalanx::spi {

absl::Status OtherOperation(int peer) {
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", peer,
                   "'s part belongs to another operation than the one here: kind, type, count, "
                   "reduce operation or root differ, or did earlier; make all ranks issue the same "
                   "operations in one order, or give them keys"));
}

}  // namespace phalanx::spi
