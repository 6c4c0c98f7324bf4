#include "describe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/key_table.h"
#include "plan/collective.h"

namespace phalanx::launch {
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

ordering::Lane LaneOf(const engine::Channel& channel, const engine::Request& request) {
  if (request.key != nullptr) return ordering::Lane::OfKey(channel.id(), request.key->name);
  if (!request.is_message()) return ordering::Lane::Of(channel.id());
  const int own = channel.ranks()[static_cast<size_t>(channel.group().rank)];
  const int peer = channel.ranks()[static_cast<size_t>(request.root_or_peer)];
  const bool sends = request.kind == CollectiveKind::kSend;
  return ordering::Lane::OfPair(channel.id(), sends ? own : peer, sends ? peer : own);
}

ordering::Signature SignatureOf(const engine::Request& request) {
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

std::string CallSiteOf(const engine::Request& request) {
  if (request.file == nullptr) return "";
  const absl::string_view file(request.file);
  // Options that were declared without braces know where their type is defined.
  if (absl::EndsWith(file, "phalanx/communicator.h")) return "";
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", request.line);
}

}  // namespace phalanx::launch
