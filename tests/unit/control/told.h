// What the coordinator's part of checkpoints tells agents.
#ifndef PHALANX_TESTS_UNIT_CONTROL_TOLD_H_
#define PHALANX_TESTS_UNIT_CONTROL_TOLD_H_

#include <utility>
#include <variant>
#include <vector>

#include "checkpoint_wire/codec.h"
#include "control_coordinator/checkpoint_outputs.h"

namespace phalanx::control {

// The messages of a kind, and to whom they go.
template <typename Kind>
std::vector<std::pair<checkpoint::AgentId, Kind>> Told(const CheckpointOutputs& outputs) {
  std::vector<std::pair<checkpoint::AgentId, Kind>> told;
  for (const CheckpointOutputs::ToAgent& message : outputs.messages) {
    const checkpoint::Message decoded = *checkpoint::Decode(message.payload);
    if (const auto* kind = std::get_if<Kind>(&decoded)) told.emplace_back(message.agent, *kind);
  }
  return told;
}

}  // namespace phalanx::control

#endif  // PHALANX_TESTS_UNIT_CONTROL_TOLD_H_
