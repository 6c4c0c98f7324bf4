#include "find_agent.h"

#include <utility>

#include "base/status_macros.h"
#include "control_bootstrap/bootstrap.h"
#include "control_bootstrap/unique_id.h"

namespace phalanx::api {

absl::StatusOr<FoundAgent> FindAgent(const Options& options, Deadline deadline) {
  FoundAgent found;
  if (!options.agent.empty()) {
    found.socket = options.agent;
    return found;
  }
  control::UniqueId id;
  if (!options.unique_id.empty()) {
    PHX_ASSIGN_OR_RETURN(id, control::UniqueId::FromString(options.unique_id));
  } else {
    PHX_ASSIGN_OR_RETURN(
        const control::AddressAndKey where,
        control::ReadAddressAndKey(options.address.c_str(), options.key_file.c_str()));
    if (options.rank == 0) {
      PHX_ASSIGN_OR_RETURN(found.coordinator,
                           control::StartCoordinatorAt(where, options.join_timeout));
    }
    id = control::IdOf(where);
  }
  PHX_ASSIGN_OR_RETURN(found.socket, control::Bootstrap(id, deadline));
  return found;
}

}  // namespace phalanx::api
