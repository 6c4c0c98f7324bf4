// The part of a node's checkpoints that looks whether there is memory for them, before it is
// promised: a process that can't be given a page is killed, and nobody asks which.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "node_checkpoints.h"

namespace phalanx::control {
namespace {

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

// Of rooms that were given to workers which haven't written to them yet.
uint64_t NodeCheckpoints::UntouchedBytes() const {
  uint64_t bytes = 0;
  for (const auto& [worker, rooms] : rooms_) {
    for (const auto& room : rooms) {
      bytes += room->memory->bytes() - std::min(room->memory->bytes(), room->memory->bytes_taken());
    }
  }
  return bytes;
}

absl::Status NodeCheckpoints::CheckMemory(uint64_t state_bytes) const {
  const bool holds_others = std::any_of(shards_.begin(), shards_.end(), [&](const auto& shard) {
    return ranks_.count(shard.first.second) == 0;
  });
  // As many as others hold of ours; later they are there, and were taken from what is available.
  const uint64_t for_others =
      holds_others ? 0 : static_cast<uint64_t>(copies_ - 1) * kRooms * state_bytes;
  const uint64_t own = room_count() * state_bytes;
  const uint64_t untouched = UntouchedBytes();
  const uint64_t available = handlers_.available_memory();
  if (own + for_others + untouched <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "checkpoints of a rank with %.1f MiB of state need %.1f MiB on its node (%d copies), %.1f "
      "MiB for "
      "copies of other nodes' ranks, and %.1f MiB that other ranks here were promised; there are "
      "%.1f "
      "MiB available",
      MiB(state_bytes), MiB(own), room_count(), MiB(for_others), MiB(untouched), MiB(available)));
}

}  // namespace phalanx::control
