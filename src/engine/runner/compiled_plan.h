// A plan in the form in which the runner walks it: bytes instead of elements, flat arrays instead
// of lists, and the range of a round by one multiplication. Private to the runner.
#ifndef PHALANX_RUNNER_COMPILED_PLAN_H_
#define PHALANX_RUNNER_COMPILED_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/region.h"
#include "plan/plan.h"

namespace phalanx::engine {

struct Range {
  size_t offset = 0;
  size_t bytes = 0;
};

struct CompiledOperand {
  Region region = Region::kInput;
  size_t offset = 0;    // bytes
  size_t length = 0;    // of all its blocks together, in a plan of one round
  size_t chunk = 0;     // bytes per round; everything in a plan of one round
  uint32_t ranges = 1;  // see spi::Publish
  size_t stride = 0;

  // `slot`: round modulo window.
  Range In(uint32_t round, uint32_t slot) const {
    const size_t done = round * chunk;
    if (done >= length) return Range{offset, 0};
    const size_t place = region == Region::kScratch ? slot * chunk : done;
    const size_t left = length - done;
    return Range{offset + place, left < chunk ? left : chunk};
  }
};

struct CompiledStep {
  plan::StepKind kind = plan::StepKind::kCopy;
  bool staged = false;
  bool last_round_only = false;
  uint8_t signal = 0;
  uint8_t acknowledged = 0;
  int peer = -1;
  uint16_t message = 0;
  uint16_t transfer = 0;     // kSend, kReceive: place among the round's transfers
  uint32_t after_begin = 0;  // in CompiledPlan::after
  uint32_t after_end = 0;
  CompiledOperand destination;
  CompiledOperand source;
  CompiledOperand other;
};

struct CompiledPlan {
  explicit CompiledPlan(const plan::Plan& plan);

  std::vector<CompiledStep> steps;
  std::vector<uint16_t> after;
  size_t region_bytes[kRegionCount] = {};
  uint16_t transfers = 0;  // per round
  bool uses_group = false;
  bool uses_links = false;
  bool pulls_to_reduce = false;
  // One round without links in which each step follows the one before: small group operations,
  // whose time is mostly ours.
  bool in_sequence = false;
};

}  // namespace phalanx::engine

#endif  // PHALANX_RUNNER_COMPILED_PLAN_H_
