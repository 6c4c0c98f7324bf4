#include "compiled_plan.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::engine {
namespace {

CompiledOperand Compile(const plan::Plan& plan, const plan::Operand& operand) {
  const size_t element = SizeOf(plan.type);
  const std::vector<plan::Block>& blocks = plan.blocks[static_cast<int>(operand.region)];
  CompiledOperand compiled;
  compiled.region = operand.region;
  if (operand.first >= blocks.size()) return compiled;  // an operand that the step doesn't have
  const plan::Block& first = blocks[operand.first];
  compiled.offset = first.offset * element;
  if (plan.rounds == 1) {
    compiled.length = plan.RangeOf(operand, 0).count * element;
    compiled.chunk = compiled.length;
    return compiled;
  }
  compiled.length = first.count * element;
  compiled.chunk = plan.chunk * element;
  compiled.ranges = operand.blocks;
  if (operand.blocks > 1) {
    compiled.stride = (blocks[operand.first + 1].offset - first.offset) * element;
  }
  return compiled;
}

}  // namespace

CompiledPlan::CompiledPlan(const plan::Plan& plan)
    : uses_group(plan.uses_group()), uses_links(plan.uses_links()) {
  steps.reserve(plan.body.size());
  in_sequence = plan.rounds == 1 && !uses_links;
  for (const plan::Step& step : plan.body) {
    CompiledStep compiled;
    compiled.kind = step.kind;
    compiled.staged = step.staged;
    compiled.last_round_only = step.last_round_only;
    compiled.signal = step.signal;
    compiled.acknowledged = step.acknowledged;
    compiled.peer = step.peer;
    compiled.message = step.message;
    if (plan::IsLinkStep(step.kind)) compiled.transfer = transfers++;
    pulls_to_reduce |= step.kind == plan::StepKind::kPullReduce;
    compiled.after_begin = static_cast<uint32_t>(after.size());
    const size_t before = steps.size() - 1;
    in_sequence &= steps.empty() ||
                   std::find(step.after.begin(), step.after.end(), before) != step.after.end();
    for (const uint16_t earlier : step.after) {
      PHX_CHECK(earlier < steps.size());
      after.push_back(earlier);
    }
    compiled.after_end = static_cast<uint32_t>(after.size());
    compiled.destination = Compile(plan, step.destination);
    compiled.source = Compile(plan, step.source);
    compiled.other = Compile(plan, step.other);
    steps.push_back(compiled);
  }
  for (int region = 0; region < kRegionCount; ++region) {
    for (const plan::Block& block : plan.blocks[region]) {
      region_bytes[region] =
          std::max<size_t>(region_bytes[region], (block.offset + block.count) * SizeOf(plan.type));
    }
  }
  region_bytes[static_cast<int>(Region::kScratch)] = plan.scratch * SizeOf(plan.type);
}

}  // namespace phalanx::engine
