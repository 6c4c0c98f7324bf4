#include "ordering/signature.h"

#include "absl/strings/str_cat.h"
#include "hash.h"

namespace phalanx::ordering {
namespace {

bool Reduces(OpKind kind) {
  return kind == OpKind::kAllReduce || kind == OpKind::kReduceScatter || kind == OpKind::kReduce;
}

bool HasRoot(OpKind kind) {
  return kind == OpKind::kBroadcast || kind == OpKind::kReduce || kind == OpKind::kGather ||
         kind == OpKind::kScatter;
}

bool MovesData(OpKind kind) {
  return kind != OpKind::kBarrier && kind != OpKind::kSplit && kind != OpKind::kDestroy;
}

}  // namespace

const char* NameOf(OpKind kind) {
  switch (kind) {
    case OpKind::kAllReduce:
      return "all_reduce";
    case OpKind::kReduceScatter:
      return "reduce_scatter";
    case OpKind::kAllGather:
      return "all_gather";
    case OpKind::kAllGatherV:
      return "all_gather_v";
    case OpKind::kBroadcast:
      return "broadcast";
    case OpKind::kReduce:
      return "reduce";
    case OpKind::kGather:
      return "gather";
    case OpKind::kScatter:
      return "scatter";
    case OpKind::kAllToAll:
      return "all_to_all";
    case OpKind::kAllToAllV:
      return "all_to_all_v";
    case OpKind::kMessage:
      return "message";
    case OpKind::kBarrier:
      return "barrier";
    case OpKind::kSplit:
      return "split";
    case OpKind::kDestroy:
      return "destroy";
  }
  return "unknown";
}

bool Synchronizes(const Signature& signature) {
  switch (signature.kind) {
    case OpKind::kAllReduce:
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:
    case OpKind::kAllToAll:
      return signature.count > 0;
    case OpKind::kBarrier:
    case OpKind::kSplit:
      return true;
    case OpKind::kAllGatherV:
    case OpKind::kBroadcast:
    case OpKind::kReduce:
    case OpKind::kGather:
    case OpKind::kScatter:
    case OpKind::kAllToAllV:
    case OpKind::kMessage:
    case OpKind::kDestroy:
      return false;
  }
  return false;
}

uint64_t HashOf(const Signature& signature) {
  uint64_t hash = static_cast<uint64_t>(signature.kind) << 16 |
                  static_cast<uint64_t>(signature.type) << 8 |
                  static_cast<uint64_t>(signature.reduce);
  hash = Combine(hash, static_cast<uint64_t>(signature.root));
  hash = Combine(hash, signature.count);
  return Combine(hash, signature.counts_hash);
}

std::string Describe(const Signature& signature) {
  std::string text = NameOf(signature.kind);
  if (!MovesData(signature.kind)) return text;
  absl::StrAppend(&text, " of ", signature.count, " ", NameOf(signature.type));
  if (Reduces(signature.kind)) absl::StrAppend(&text, " (", NameOf(signature.reduce), ")");
  if (HasRoot(signature.kind)) absl::StrAppend(&text, ", root ", signature.root);
  return text;
}

std::optional<Difference> Compare(const Signature& left, const Signature& right) {
  if (left.kind != right.kind) return Difference{"kind", NameOf(left.kind), NameOf(right.kind)};
  if (left.type != right.type) return Difference{"type", NameOf(left.type), NameOf(right.type)};
  if (left.count != right.count) {
    return Difference{"count", absl::StrCat(left.count), absl::StrCat(right.count)};
  }
  if (left.reduce != right.reduce) {
    return Difference{"reduce operation", NameOf(left.reduce), NameOf(right.reduce)};
  }
  if (left.root != right.root) {
    return Difference{"root", absl::StrCat(left.root), absl::StrCat(right.root)};
  }
  if (left.counts_hash != right.counts_hash) {
    return Difference{"counts", absl::StrCat("hash ", absl::Hex(left.counts_hash)),
                      absl::StrCat("hash ", absl::Hex(right.counts_hash))};
  }
  return std::nullopt;
}

}  // namespace phalanx::ordering
