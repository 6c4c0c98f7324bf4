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
  // The first call notes what the regions are; later ones compare, as below. INVALID_ARGUMENT too,
  // with nothing noted: two regions of one name, or bytes at no address.
  absl::Status Describe(absl::Span<const StateRegion> regions);
  // INVALID_ARGUMENT: these aren't the regions that were described: other names, sizes or order.
  // They may lie elsewhere.
  absl::Status Compare(absl::Span<const StateRegion> regions) const;
  // Of regions that compare equal: copies them, if nothing was ever kept.
  void Keep(absl::Span<const StateRegion> regions);
  // Of regions that compare equal: copies them the first time, later writes the copy back.
  void KeepOrRestore(absl::Span<const StateRegion> regions);
  // Something newer is saved, so the copy isn't needed any more.
  void Forget();

  size_t bytes() const { return bytes_; }  // of all regions

 private:
  struct Region {
    std::string name;
    size_t bytes = 0;
    std::vector<std::byte> copy;  // empty while nothing is kept
  };

  bool is_described_ = false;
  bool is_kept_ = false;
  bool is_forgotten_ = false;
  std::vector<Region> regions_;
  size_t bytes_ = 0;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FIRST_STATE_H_
