// Writes a plan step by step. Private to the planner's algorithms.
#ifndef PHALANX_PLAN_PLAN_BUILDER_H_
#define PHALANX_PLAN_PLAN_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "plan/collective.h"
#include "plan/plan.h"
#include "plan/planner.h"

namespace phalanx::plan {

// Index of a step, or kNone: an algorithm may name a step that it had no reason to add.
using StepIndex = int;
inline constexpr StepIndex kNone = -1;

Operand Input(int first, int blocks = 1);
Operand Output(int first, int blocks = 1);
Operand Scratch(int first, int blocks = 1);

// `count` elements as `parts` blocks of one size, the last ones cut off by the end. Borders lie at
// multiples of 64 bytes from the start.
std::vector<Block> Split(uint64_t count, int parts, DataType type);
// `parts` blocks of `count` elements.
std::vector<Block> Repeat(uint64_t count, int parts);

class PlanBuilder {
 public:
  PlanBuilder(const char* algorithm, const Collective& collective, const Group& group);

  int rank() const { return plan_.rank; }
  int size() const { return plan_.size; }
  DataType type() const { return plan_.type; }
  // The peer `distance` places behind us in the ring.
  int Peer(int distance) const { return Wrap(plan_.rank + distance); }
  int Wrap(int rank) const { return ((rank % plan_.size) + plan_.size) % plan_.size; }

  void SetBlocks(Region region, std::vector<Block> blocks);
  const std::vector<Block>& blocks(Region region) const {
    return plan_.blocks[static_cast<int>(region)];
  }

  // Rounds of at most `chunk_bytes` of a block for the longest of all blocks, which has `longest`
  // elements; before any AddScratch().
  void SetRounds(uint64_t longest, uint64_t chunk_bytes, uint32_t window);

  // The chunk stays that of a longer block, for plans whose ranks don't know each other's blocks.
  void SetChunk(uint64_t chunk_bytes);
  // Message numbers of a round, equal on all ranks: also on those that use fewer.
  void SetMessages(int messages);

  // A new scratch block, through which `count` elements pass.
  Operand AddScratch(uint64_t count);
  // Scratch blocks of these counts in one and the same place: a rank uses its own, and the peers
  // that read it name the block by its rank.
  void SetSharedScratch(const std::vector<Block>& blocks);

  using After = std::initializer_list<StepIndex>;
  StepIndex Send(int peer, const Operand& source, int message, After after);
  StepIndex Receive(int peer, const Operand& destination, int message, After after);
  StepIndex Copy(const Operand& destination, const Operand& source, After after);
  StepIndex Scale(const Operand& destination, const Operand& source, After after);
  StepIndex Reduce(const Operand& destination, const Operand& source, const Operand& other,
                   After after);
  StepIndex Divide(const Operand& destination, After after);
  StepIndex PublishStaged(const Operand& source, int signal);
  StepIndex Publish(const Operand& source, int signal, int acknowledged, After after);
  StepIndex Raise(int signal, After after);
  StepIndex Await(int peer, int signal, After after);
  StepIndex AwaitAll(int signal, After after);
  // In the last round only: for acknowledgements, since signals only rise.
  StepIndex AwaitAtEnd(int peer, int signal, After after);
  StepIndex AwaitAllAtEnd(int signal, After after);
  StepIndex Pull(int peer, const Operand& destination, const Operand& source, After after);
  StepIndex PullReduce(const Operand& destination, const Operand& source, After after);

  // One more dependency of a step that is there already.
  void AddAfter(StepIndex step, StepIndex earlier);

  // Whether inputs are multiplied before they are reduced, and whether the sum is divided at the
  // end: what links' plans have to do by steps of their own.
  bool scales() const;
  bool divides() const;

  Plan Build() { return std::move(plan_); }

 private:
  StepIndex Add(Step step, After after);

  Plan plan_;
};

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_PLAN_BUILDER_H_
