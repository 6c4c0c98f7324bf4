// One recorded call of a Group or a Graph.
#ifndef PHALANX_API_RECORDED_CALL_H_
#define PHALANX_API_RECORDED_CALL_H_

#include <memory>

#include "communicator_state.h"
#include "engine/request.h"

namespace phalanx::api {

struct RecordedCall {
  std::shared_ptr<CommunicatorState> communicator;
  engine::Request request;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_RECORDED_CALL_H_
