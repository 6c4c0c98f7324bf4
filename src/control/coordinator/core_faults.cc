// The core's part for faults that the coordinator itself is to suffer. Each is in the record
// before, so that the next coordinator doesn't suffer it again.
#include "control_coordinator/core.h"

namespace phalanx::control {

bool CoordinatorCore::SuffersAt(faults::Point point) { return Suffers(faults_.AtPoint(point)); }

// Before the first view there is no record to write it to.
bool CoordinatorCore::SuffersNow() {
  if (epoch_ == Epoch{}) return false;
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(now_ - begun_at_);
  return Suffers(faults_.AtTime(elapsed.count()));
}

bool CoordinatorCore::Suffers(const std::vector<faults::Due>& due) {
  for (const faults::Due& one : due) {
    if (one.fault.target.kind != faults::Target::Kind::kCoordinator || suffers_) continue;
    NoteFault(one.index);
    suffers_ = true;
    WriteFirst(Afterwards::kSuffer);
  }
  return suffers_;
}

void CoordinatorCore::NoteFault(uint32_t index) {
  if (performed_faults_.insert(index).second) Tell({"fault", {{"index", index}}});
}

}  // namespace phalanx::control
