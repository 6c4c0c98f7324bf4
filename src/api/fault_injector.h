// Lets this process suffer the faults that its job was started with.
#ifndef PHALANX_API_FAULT_INJECTOR_H_
#define PHALANX_API_FAULT_INJECTOR_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "control_client/client.h"
#include "faults/fault_plan.h"

namespace phalanx::api {

// Of one view.
class FaultInjector {
 public:
  FaultInjector() = default;
  // `performed`: numbers of those that have happened.
  FaultInjector(std::vector<faults::Fault> faults, const std::vector<uint32_t>& performed)
      : plan_(std::move(faults), std::set<uint32_t>(performed.begin(), performed.end())) {}

  // This process, which holds `rank`, has come to `step`. Doesn't come back from most faults.
  void AtStep(int rank, int64_t step, control::Client& client);

 private:
  faults::FaultPlan plan_;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FAULT_INJECTOR_H_
