// What all members of an operation must agree on, and how they don't.
#ifndef PHALANX_ORDERING_SIGNATURE_H_
#define PHALANX_ORDERING_SIGNATURE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "phalanx/types.h"

namespace phalanx::ordering {

enum class OpKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllGatherV,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kMessage,  // a send on one side, a receive on the other; its peer is part of its name
  kBarrier,
  // Changes of communicators stand in the same order as everything else.
  kSplit,
  kDestroy,
};

const char* NameOf(OpKind kind);

struct Signature {
  OpKind kind = OpKind::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp reduce = ReduceOp::kSum;  // kSum where nothing is reduced
  int root = 0;                      // 0 where there is none
  uint64_t count = 0;
  uint64_t counts_hash = 0;  // of what else is equal on all members (all-gather-v's shares), or 0

  bool operator==(const Signature&) const = default;
};

// Whether no member can complete its part before every member has launched its own, because each
// one's result depends on all. A send that is buffered, a broadcast's root or a reduction's leaf
// can.
bool Synchronizes(const Signature& signature);

// Equal in every process and build.
uint64_t HashOf(const Signature& signature);

// "all_reduce of 1024 float (sum)".
std::string Describe(const Signature& signature);

struct Difference {
  std::string field;  // "kind", "type", "count", "reduce operation", "root", "counts"
  std::string left;
  std::string right;

  bool operator==(const Difference&) const = default;
};

// The first field that differs, most telling first; nothing if the signatures are equal.
std::optional<Difference> Compare(const Signature& left, const Signature& right);

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_SIGNATURE_H_
