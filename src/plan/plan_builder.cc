#include "plan_builder.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::plan {
namespace {

constexpr uint64_t kBorderBytes = 64;

Operand MakeOperand(Region region, int first, int blocks) {
  return Operand{region, static_cast<uint16_t>(first), static_cast<uint16_t>(blocks)};
}

uint64_t DivideUp(uint64_t value, uint64_t divisor) {
  return value / divisor + (value % divisor == 0 ? 0 : 1);
}

Step MakeStep(StepKind kind, int peer = -1) {
  Step step;
  step.kind = kind;
  step.peer = static_cast<int16_t>(peer);
  return step;
}

}  // namespace

Operand Input(int first, int blocks) { return MakeOperand(Region::kInput, first, blocks); }
Operand Output(int first, int blocks) { return MakeOperand(Region::kOutput, first, blocks); }
Operand Scratch(int first, int blocks) { return MakeOperand(Region::kScratch, first, blocks); }

std::vector<Block> Split(uint64_t count, int parts, DataType type) {
  const uint64_t unit = kBorderBytes / SizeOf(type);
  const uint64_t part = DivideUp(DivideUp(count, static_cast<uint64_t>(parts)), unit) * unit;
  std::vector<Block> blocks(parts);
  for (int i = 0; i < parts; ++i) {
    const uint64_t offset = std::min(count, part * static_cast<uint64_t>(i));
    blocks[i] = Block{offset, std::min(part, count - offset)};
  }
  return blocks;
}

std::vector<Block> Repeat(uint64_t count, int parts) {
  std::vector<Block> blocks(parts);
  for (int i = 0; i < parts; ++i) blocks[i] = Block{count * static_cast<uint64_t>(i), count};
  return blocks;
}

PlanBuilder::PlanBuilder(const char* algorithm, const Collective& collective, const Group& group) {
  plan_.algorithm = algorithm;
  plan_.type = collective.type;
  plan_.op = collective.op;
  plan_.rank = group.rank;
  plan_.size = group.size;
}

void PlanBuilder::SetBlocks(Region region, std::vector<Block> blocks) {
  plan_.blocks[static_cast<int>(region)] = std::move(blocks);
}

void PlanBuilder::SetRounds(uint64_t longest, uint64_t chunk_bytes, uint32_t window) {
  PHX_CHECK(plan_.scratch == 0);
  const uint64_t chunk = std::max<uint64_t>(1, chunk_bytes / SizeOf(plan_.type));
  plan_.chunk = std::min(chunk, longest);
  plan_.rounds = static_cast<uint32_t>(std::max<uint64_t>(1, DivideUp(longest, chunk)));
  plan_.window = std::min(plan_.rounds, std::max<uint32_t>(1, window));
}

void PlanBuilder::SetChunk(uint64_t chunk_bytes) {
  plan_.chunk = std::max<uint64_t>(1, chunk_bytes / SizeOf(plan_.type));
}

void PlanBuilder::SetMessages(int messages) { plan_.messages = static_cast<uint16_t>(messages); }

Operand PlanBuilder::AddScratch(uint64_t count) {
  std::vector<Block>& all = plan_.blocks[static_cast<int>(Region::kScratch)];
  const uint64_t unit = kBorderBytes / SizeOf(plan_.type);
  const uint64_t place = plan_.rounds == 1 ? count : plan_.window * plan_.chunk;
  all.push_back(Block{plan_.scratch, count});
  plan_.scratch += DivideUp(place, unit) * unit;
  return Scratch(static_cast<int>(all.size()) - 1);
}

void PlanBuilder::SetSharedScratch(const std::vector<Block>& blocks) {
  std::vector<Block>& all = plan_.blocks[static_cast<int>(Region::kScratch)];
  PHX_CHECK(all.empty());
  uint64_t longest = 0;
  for (const Block& block : blocks) {
    all.push_back(Block{0, block.count});
    longest = std::max(longest, block.count);
  }
  plan_.scratch = plan_.rounds == 1 ? longest : plan_.window * plan_.chunk;
}

StepIndex PlanBuilder::Add(Step step, After after) {
  const StepIndex index = static_cast<StepIndex>(plan_.body.size());
  plan_.body.push_back(std::move(step));
  for (const StepIndex earlier : after) AddAfter(index, earlier);
  return index;
}

void PlanBuilder::AddAfter(StepIndex step, StepIndex earlier) {
  if (earlier == kNone) return;
  PHX_CHECK(earlier < step);
  auto& list = plan_.body[step].after;
  const auto number = static_cast<uint16_t>(earlier);
  if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
}

StepIndex PlanBuilder::Send(int peer, const Operand& source, int message, After after) {
  Step step = MakeStep(StepKind::kSend, peer);
  step.source = source;
  step.message = static_cast<uint16_t>(message);
  PHX_CHECK(message < plan_.messages);
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Receive(int peer, const Operand& destination, int message, After after) {
  Step step = MakeStep(StepKind::kReceive, peer);
  step.destination = destination;
  step.message = static_cast<uint16_t>(message);
  PHX_CHECK(message < plan_.messages);
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Copy(const Operand& destination, const Operand& source, After after) {
  Step step = MakeStep(StepKind::kCopy);
  step.destination = destination;
  step.source = source;
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Scale(const Operand& destination, const Operand& source, After after) {
  Step step = MakeStep(StepKind::kScale);
  step.destination = destination;
  step.source = source;
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Reduce(const Operand& destination, const Operand& source,
                              const Operand& other, After after) {
  Step step = MakeStep(StepKind::kReduce);
  step.destination = destination;
  step.source = source;
  step.other = other;
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Divide(const Operand& destination, After after) {
  Step step = MakeStep(StepKind::kDivide);
  step.destination = destination;
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::PublishStaged(const Operand& source, int signal) {
  Step step = MakeStep(StepKind::kPublish);
  step.source = source;
  step.signal = static_cast<uint8_t>(signal);
  step.staged = true;
  return Add(std::move(step), {});
}

StepIndex PlanBuilder::Publish(const Operand& source, int signal, int acknowledged, After after) {
  Step step = MakeStep(StepKind::kPublish);
  step.source = source;
  step.signal = static_cast<uint8_t>(signal);
  step.acknowledged = static_cast<uint8_t>(acknowledged);
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Raise(int signal, After after) {
  Step step = MakeStep(StepKind::kRaise);
  step.signal = static_cast<uint8_t>(signal);
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::Await(int peer, int signal, After after) {
  Step step = MakeStep(StepKind::kAwait, peer);
  step.signal = static_cast<uint8_t>(signal);
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::AwaitAll(int signal, After after) { return Await(-1, signal, after); }

StepIndex PlanBuilder::AwaitAtEnd(int peer, int signal, After after) {
  const StepIndex index = Await(peer, signal, after);
  plan_.body[index].last_round_only = true;
  return index;
}

StepIndex PlanBuilder::AwaitAllAtEnd(int signal, After after) {
  return AwaitAtEnd(-1, signal, after);
}

StepIndex PlanBuilder::Pull(int peer, const Operand& destination, const Operand& source,
                            After after) {
  Step step = MakeStep(StepKind::kPull, peer);
  step.destination = destination;
  step.source = source;
  return Add(std::move(step), after);
}

StepIndex PlanBuilder::PullReduce(const Operand& destination, const Operand& source, After after) {
  Step step = MakeStep(StepKind::kPullReduce);
  step.destination = destination;
  step.source = source;
  return Add(std::move(step), after);
}

bool PlanBuilder::scales() const {
  if (plan_.size == 1) return plan_.op == ReduceOp::kPreMultipliedSum;
  return plan_.op == ReduceOp::kPreMultipliedSum ||
         (plan_.op == ReduceOp::kAverage && !IsInteger(plan_.type));
}

bool PlanBuilder::divides() const {
  return plan_.op == ReduceOp::kAverage && IsInteger(plan_.type) && plan_.size > 1;
}

}  // namespace phalanx::plan
