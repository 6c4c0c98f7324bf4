// The keys of one communicator's operations.
#ifndef PHALANX_ENGINE_KEY_TABLE_H_
#define PHALANX_ENGINE_KEY_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "engine/operation_list.h"
#include "engine/signature.h"

namespace phalanx::engine {

// What a communicator's splits go by.
inline constexpr std::string_view kSplitKey = "phalanx.split";

// Operations of one key run one after the other, those of different keys side by side.
struct KeyedLane {
  KeyedLane(std::string_view key, uint64_t key_hash) : name(key), hash(key_hash) {}

  const std::string name;
  const uint64_t hash;  // equal on all ranks; what messages and the ordering service know it by

  OperationList operations;  // the holder's of the channel's progress token
  History history;           // of those that have started; the same
  uint64_t sequence = 0;     // see Channel::issue_lock_
  uint32_t gate_lane = 0;    // the launch gate's
};

// Keys are never forgotten: programs name tensors, not steps.
class KeyTable {
 public:
  explicit KeyTable(CommunicatorId communicator) : communicator_(communicator) {}

  // The lane of `key`, made at its first use; lives as long as the table. Any thread. Allocates
  // for a new key alone. INVALID_ARGUMENT: an earlier key has the same hash, so that the ranks
  // couldn't tell their messages apart.
  absl::StatusOr<KeyedLane*> Find(std::string_view key);

 private:
  const CommunicatorId communicator_;
  SpinLock lock_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<KeyedLane>> lanes_;  // by hash; under lock_
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_KEY_TABLE_H_
