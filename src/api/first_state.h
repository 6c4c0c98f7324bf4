// A rank's regions as its first View::Restore() found them: what it begins with again while there
// is nothing newer.
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
  // The first call copies the regions, later ones write the copy back; the regions may lie
  // elsewhere by then. INVALID_ARGUMENT, with nothing changed: two regions of one name, or others
  // than the first time.
  absl::Status KeepOrRestore(absl::Span<const StateRegion> regions);

 private:
  struct Kept {
    std::string name;
    std::vector<std::byte> bytes;
  };

  absl::Status Compare(absl::Span<const StateRegion> regions) const;

  bool is_kept_ = false;
  std::vector<Kept> kept_;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FIRST_STATE_H_
