// Plans and their runners, kept from one operation to the next like it.
#ifndef PHALANX_ENGINE_PLAN_CACHE_H_
#define PHALANX_ENGINE_PLAN_CACHE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/request.h"
#include "plan/plan.h"
#include "plan/planner.h"
#include "runner/plan_runner.h"

namespace phalanx::engine {

struct CachedPlan {
  std::shared_ptr<const plan::Plan> plan;
  std::vector<int> link_peers;  // group ranks that the plan exchanges messages with
  bool uses_group = false;
  uint64_t signature = 0;  // its hash: what all members agree on
  // One runner per operation that runs at the same time (messages and keyed ones do); busy[i] while
  // it runs.
  std::vector<std::unique_ptr<PlanRunner>> runners;
  std::vector<bool> busy;
  uint64_t last_use = 0;
  bool cached = true;  // false: made for one operation with unequal parts
};

// Belongs to one channel; called by the holder of its progress token.
class PlanCache {
 public:
  PlanCache(const plan::Group& group, spi::TransferListener* listener)
      : group_(group), listener_(listener) {}

  // The plan for `request`, over links if it has a key, and a free runner of it, marked busy.
  // Allocates only for a request unlike the earlier ones.
  struct Lease {
    CachedPlan* plan;
    size_t runner;
  };
  absl::StatusOr<Lease> Acquire(const Request& request);
  void Release(const Lease& lease);

 private:
  struct Key {
    plan::CollectiveKind kind;
    DataType type;
    ReduceOp op;
    int root_or_peer;
    uint64_t count;
    bool keyed;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.kind, key.type, key.op, key.root_or_peer, key.count,
                        key.keyed);
    }
  };

  absl::StatusOr<std::unique_ptr<CachedPlan>> Make(const plan::Collective& collective,
                                                   bool keyed) const;
  size_t TakeRunner(CachedPlan* entry);
  void EvictOldest();

  const plan::Group group_;
  spi::TransferListener* const listener_;
  absl::flat_hash_map<Key, std::unique_ptr<CachedPlan>> plans_;
  std::vector<std::unique_ptr<CachedPlan>> uncached_;
  Key last_key_{};
  CachedPlan* last_ = nullptr;
  uint64_t uses_ = 0;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_PLAN_CACHE_H_
