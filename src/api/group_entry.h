// One recorded call of a Group.
#ifndef PHALANX_API_GROUP_ENTRY_H_
#define PHALANX_API_GROUP_ENTRY_H_

#include <memory>

#include "communicator_state.h"
#include "engine/request.h"

namespace phalanx::api {

struct GroupEntry {
  std::shared_ptr<CommunicatorState> communicator;
  engine::Request request;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_GROUP_ENTRY_H_
