// A rank's regions as its first View::Restore() found them: what it begins with again while
// nothing newer is saved, and what its regions are.
#ifndef PHALANX_API_FIRST_STATE_H_
#define PHALANX_API_FIRST_STATE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "phalanx/state.h"

namespace phalanx::api {

class FirstState {
 public:
  // The first call copies the regions; later ones compare, as below. INVALID_ARGUMENT too, with
  // nothing kept: two regions of one name, or bytes at no address.
  absl::Status Keep(absl::Span<const StateRegion> regions);
  // INVALID_ARGUMENT: these aren't the regions that were kept: other names, sizes or order. They
  // may lie elsewhere.
  absl::Status Compare(absl::Span<const StateRegion> regions) const;
  // Writes the copy back into regions that compare equal.
  void Restore(absl::Span<const StateRegion> regions) const;

  size_t bytes() const { return bytes_; }  // of all regions

 private:
  struct Kept {
    std::string name;
    std::vector<std::byte> bytes;
  };

  bool is_kept_ = false;
  std::vector<Kept> kept_;
  size_t bytes_ = 0;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FIRST_STATE_H_
