#include "engine/signature.h"

#include <vector>

#include "plan/collective.h"

namespace phalanx::engine {
namespace {

using ordering::OpKind;
using plan::CollectiveKind;

OpKind KindOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return OpKind::kAllReduce;
    case CollectiveKind::kReduceScatter:
      return OpKind::kReduceScatter;
    case CollectiveKind::kAllGather:
      return OpKind::kAllGather;
    case CollectiveKind::kAllGatherV:
      return OpKind::kAllGatherV;
    case CollectiveKind::kBroadcast:
      return OpKind::kBroadcast;
    case CollectiveKind::kReduce:
      return OpKind::kReduce;
    case CollectiveKind::kGather:
      return OpKind::kGather;
    case CollectiveKind::kScatter:
      return OpKind::kScatter;
    case CollectiveKind::kAllToAll:
      return OpKind::kAllToAll;
    case CollectiveKind::kAllToAllV:
      return OpKind::kAllToAllV;
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
      return OpKind::kMessage;
    case CollectiveKind::kBarrier:
      return OpKind::kBarrier;
  }
  return OpKind::kBarrier;
}

// FNV-1a over the numbers: equal in every process.
uint64_t HashOfCounts(const std::vector<uint64_t>& counts) {
  uint64_t hash = 14695981039346656037u;
  for (const uint64_t count : counts) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ (count >> shift & 0xff)) * 1099511628211u;
    }
  }
  return hash;
}

}  // namespace

ordering::Signature SignatureOf(const Request& request) {
  ordering::Signature signature;
  signature.kind = KindOf(request.kind);
  signature.type = request.type;
  switch (request.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
      signature.reduce = request.op;
      break;
    case CollectiveKind::kReduce:
      signature.reduce = request.op;
      signature.root = request.root_or_peer;
      break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      signature.root = request.root_or_peer;
      break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllGatherV:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kAllToAllV:
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
    case CollectiveKind::kBarrier:
      break;
  }
  // The counts of an all-to-all with unequal parts agree in pairs only.
  if (request.kind == CollectiveKind::kAllToAllV) return signature;
  if (request.kind == CollectiveKind::kAllGatherV) {
    signature.counts_hash = HashOfCounts(request.parts->receive_counts);
  } else {
    signature.count = request.count;
  }
  return signature;
}

}  // namespace phalanx::engine
