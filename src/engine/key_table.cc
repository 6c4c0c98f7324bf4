#include "engine/key_table.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "ordering/names.h"

namespace phalanx::engine {

absl::StatusOr<KeyedLane*> KeyTable::Find(std::string_view key) {
  const uint64_t hash = ordering::Lane::OfKey(communicator_, key).detail;
  const std::lock_guard lock(lock_);
  std::unique_ptr<KeyedLane>& lane = lanes_[hash];
  if (lane == nullptr) lane = std::make_unique<KeyedLane>(key, hash);
  if (lane->name == key) return lane.get();
  return absl::InvalidArgumentError(absl::StrCat("the keys \"", lane->name, "\" and \"",
                                                 std::string(key),
                                                 "\" have the same hash; rename one of them"));
}

}  // namespace phalanx::engine
