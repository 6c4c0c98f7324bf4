#include "extents.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::api {
namespace {

using plan::CollectiveKind;

// 2^62 bytes: no sum or product below leaves 64 bits.
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

bool HasPeer(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
}

absl::Status Wrong(const Call& call, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(plan::NameOf(call.kind), ": ", what));
}

}  // namespace

Extents ExtentsOf(const Call& call, int rank, int size) {
  const uint64_t count = call.count;
  const uint64_t all = count * static_cast<uint64_t>(size);
  const uint64_t mine = count * static_cast<uint64_t>(rank);
  const bool at_root = rank == call.root_or_peer;
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return {count, count};
    case CollectiveKind::kReduceScatter:
      return {all, count, mine};
    case CollectiveKind::kAllGather:
      return {count, all, mine};
    case CollectiveKind::kBroadcast:
      return {at_root ? count : 0, count};
    case CollectiveKind::kReduce:
      return {count, at_root ? count : 0};
    case CollectiveKind::kGather:
      return {count, at_root ? all : 0, mine};
    case CollectiveKind::kScatter:
      return {at_root ? all : 0, count, mine};
    case CollectiveKind::kAllToAll:
      return {all, all, 0, /*may_be_in_place=*/size == 1};
    case CollectiveKind::kSend:
      return {count, 0};
    case CollectiveKind::kReceive:
      return {0, count};
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllGatherV:
    case CollectiveKind::kAllToAllV:
      return {};
  }
  return {};
}

absl::Status ValidateBuffers(const Call& call, const Extents& extents) {
  const uint64_t width = SizeOf(call.type);
  const auto null_buffer = [&](const char* name, uint64_t elements) {
    return Wrong(call, absl::StrCat("the ", name, " buffer is null, but ", elements, " elements (",
                                    elements * width, " bytes) are needed there"));
  };
  if (call.send == nullptr && extents.send > 0) return null_buffer("send", extents.send);
  if (call.receive == nullptr && extents.receive > 0) {
    return null_buffer("receive", extents.receive);
  }
  if (extents.send == 0 || extents.receive == 0) return absl::OkStatus();
  const auto* send = static_cast<const std::byte*>(call.send);
  const auto* receive = static_cast<const std::byte*>(call.receive);
  const bool in_place = extents.send >= extents.receive
                            ? receive == send + extents.in_place_at * width
                            : send == receive + extents.in_place_at * width;
  if (in_place && extents.may_be_in_place) return absl::OkStatus();
  const std::less<> before;
  const bool apart = !before(receive, send + extents.send * width) ||
                     !before(send, receive + extents.receive * width);
  if (apart) return absl::OkStatus();
  return Wrong(call,
               extents.may_be_in_place
                   ? "the send and receive buffers overlap without being in place; pass the same "
                     "memory (this rank's part of the larger buffer) or separate buffers"
                   : "the send and receive buffers overlap, and this operation can't be done in "
                     "place; pass separate buffers");
}

absl::Status Validate(const Call& call, int rank, int size) {
  const uint64_t width = SizeOf(call.type);
  if (width == 0) {
    return Wrong(call, absl::StrCat("unknown data type ", static_cast<int>(call.type)));
  }
  if (static_cast<int>(call.op) >= kReduceOpCount) {
    return Wrong(call, absl::StrCat("unknown reduction ", static_cast<int>(call.op)));
  }
  if (call.count > kMaxBytes / width / static_cast<uint64_t>(size)) {
    return Wrong(call, absl::StrCat("a count of ", call.count, " elements can't be meant"));
  }
  const int other = call.root_or_peer;
  if ((HasRoot(call.kind) || HasPeer(call.kind)) && (other < 0 || other >= size)) {
    return Wrong(call,
                 absl::StrCat(HasRoot(call.kind) ? "root " : "peer ", other,
                              " isn't a rank of this communicator; its ranks are 0 to ", size - 1));
  }
  return ValidateBuffers(call, ExtentsOf(call, rank, size));
}

}  // namespace phalanx::api
