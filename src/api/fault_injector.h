// Lets this process suffer the faults that its job was started with.
#ifndef PHALANX_API_FAULT_INJECTOR_H_
#define PHALANX_API_FAULT_INJECTOR_H_

#include <cstdint>
#include <set>
#include <vector>

#include "control_client/client.h"
#include "faults/fault.h"

namespace phalanx::api {

// Of one view.
class FaultInjector {
 public:
  FaultInjector() = default;
  // `performed`: numbers of those that have happened.
  FaultInjector(std::vector<faults::Fault> faults, const std::vector<uint32_t>& performed)
      : faults_(std::move(faults)), performed_(performed.begin(), performed.end()) {}

  // This process, which holds `rank`, has come to `step`. Doesn't come back from most faults.
  void AtStep(int rank, int64_t step, control::Client& client);

 private:
  std::vector<faults::Fault> faults_;
  std::set<uint32_t> performed_;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_FAULT_INJECTOR_H_
