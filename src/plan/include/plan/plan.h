// What one rank does for one collective: an immutable graph of steps over chunks.
//
// A plan is a *body* of steps, performed once per *round*. Every region (input, output, scratch) is
// divided into *blocks*; round c of a step covers the c-th chunk of the block that the step names.
// So a plan's size doesn't grow with the message, and rounds of one plan run at the same time, up
// to `window` of them, which is what pipelines a ring or keeps a shared-memory reduction in the
// cache.
//
// Plans are equal in form on all ranks: same rounds, chunk, messages and signals. They depend only
// on what all ranks agree on. (kAllToAllV, where ranks know their own counts alone, is equal pair
// by pair: its rounds may differ from rank to rank.) Each is right in place and out of place, as
// NCCL defines in place.
#ifndef PHALANX_PLAN_PLAN_H_
#define PHALANX_PLAN_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/region.h"
#include "phalanx/types.h"
#include "plan/collective.h"

namespace phalanx::plan {

// A contiguous part of a region, in elements.
struct Block {
  uint64_t offset = 0;
  uint64_t count = 0;
  bool operator==(const Block&) const = default;
};

// The chunk of round c of blocks first … first + blocks - 1, which lie one behind the other. With
// more than one block a plan has one round, except for kPublish, whose blocks then are of one size
// (the last ones may be cut off by the region's end).
struct Operand {
  Region region = Region::kInput;
  uint16_t first = 0;
  uint16_t blocks = 1;
  bool operator==(const Operand&) const = default;
};

enum class StepKind : uint8_t {
  // Over links. An empty range is no message.
  kSend,     // source → peer, as message `message` of the round
  kReceive,  // peer → destination
  // Local.
  kCopy,    // destination = source (nothing to do where both are the same memory)
  kScale,   // destination = this rank's factor × source (average of floats: 1/n)
  kReduce,  // destination = source op other
  kDivide,  // destination /= n, truncating: the end of an integer average
  // In a group whose members read each other's memory.
  kPublish,     // let the peers read source, and raise `signal`
  kRaise,       // raise `signal` alone
  kAwait,       // until `peer` (or, with -1, every other member) has raised `signal` for this round
  kPull,        // destination = peer's source
  kPullReduce,  // destination = all members' source in rank order, reduced, factors and division
                // included
};

const char* NameOf(StepKind kind);
bool IsGroupStep(StepKind kind);  // needs a group transport
bool IsLinkStep(StepKind kind);   // needs links

struct Step {
  StepKind kind = StepKind::kCopy;
  int16_t peer = -1;  // kSend, kReceive, kPull, kAwait
  Operand destination;
  Operand source;
  Operand other;             // kReduce
  uint16_t message = 0;      // kSend, kReceive: equal on both sides, unique per peer and direction
  uint8_t signal = 0;        // kPublish, kRaise, kAwait
  uint8_t acknowledged = 0;  // kPublish in place: raised by readers that are done with a round
  bool staged = false;       // kPublish: copied to the transport's slots (small messages)
  bool last_round_only = false;  // nothing to do in the rounds before
  // Indices of earlier steps of the body that must be complete in the same round. Also, a step
  // starts in a round no earlier than it has started in the round before.
  absl::InlinedVector<uint16_t, 4> after;
  bool operator==(const Step&) const = default;
};

struct Plan {
  const char* algorithm = "";  // "one-shot", "direct", "ring", "halving-doubling", …
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  int rank = 0;
  int size = 1;
  std::array<std::vector<Block>, kRegionCount> blocks;
  uint64_t chunk = 0;     // elements of a block per round
  uint32_t rounds = 1;    // at least 1, also for an empty message
  uint32_t window = 1;    // rounds in progress at once, at most
  uint64_t scratch = 0;   // elements of the scratch region
  uint16_t messages = 0;  // per round; `message` numbers are below it
  std::vector<Step> body;

  // The elements that `operand` covers in `round`; count 0 past the block's end. Of a kPublish with
  // several blocks in several rounds: the range in the first of them.
  //
  // A scratch block holds only `window` chunks at a time: round c has the place c mod window of
  // them. Its `count` is that of the data whose chunks pass through it.
  Block RangeOf(const Operand& operand, uint32_t round) const;
  // Whether the steps need a group transport, or links (send, receive).
  bool uses_group() const;
  bool uses_links() const;
};

// The plan as text, one step a line: what the golden tests hold and `PHALANX_DEBUG=PLAN` prints.
std::string ToText(const Plan& plan);

}  // namespace phalanx::plan

#endif  // PHALANX_PLAN_PLAN_H_
