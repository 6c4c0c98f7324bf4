#include "plan_cache.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "engine/signature.h"

namespace phalanx::engine {
namespace {

// A training step has some hundred distinct operations at most; beyond that the oldest goes.
constexpr size_t kMaxPlans = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<CachedPlan>> PlanCache::Make(const plan::Collective& collective,
                                                            bool keyed) const {
  auto entry = std::make_unique<CachedPlan>();
  // A group transport runs one operation at a time. And what travels under a key may be cut and
  // joined as its issuer likes, with the same result.
  plan::Group group = group_;
  group.shares_memory &= !keyed;
  const plan::Limits limits = keyed ? plan::Limits::InOneOrder() : plan::Limits();
  PHX_ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(collective, group, limits));
  entry->uses_group = plan.uses_group();
  for (const plan::Step& step : plan.body) {
    if (step.kind != plan::StepKind::kSend && step.kind != plan::StepKind::kReceive) continue;
    if (std::find(entry->link_peers.begin(), entry->link_peers.end(), step.peer) ==
        entry->link_peers.end()) {
      entry->link_peers.push_back(step.peer);
    }
  }
  entry->plan = std::make_shared<const plan::Plan>(std::move(plan));
  return entry;
}

absl::StatusOr<PlanCache::Lease> PlanCache::Acquire(const Request& request) {
  const bool keyed = request.key != nullptr;
  if (request.parts != nullptr) {
    PHX_ASSIGN_OR_RETURN(std::unique_ptr<CachedPlan> entry, Make(*request.parts, keyed));
    entry->signature = ordering::HashOf(SignatureOf(request));
    entry->cached = false;
    uncached_.push_back(std::move(entry));
    return Lease{uncached_.back().get(), TakeRunner(uncached_.back().get())};
  }
  const Key key{request.kind, request.type, request.op, request.root_or_peer, request.count, keyed};
  if (last_ == nullptr || !(key == last_key_)) {
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      if (plans_.size() >= kMaxPlans) EvictOldest();
      PHX_ASSIGN_OR_RETURN(std::unique_ptr<CachedPlan> entry, Make(request.ToCollective(), keyed));
      entry->signature = ordering::HashOf(SignatureOf(request));
      found = plans_.emplace(key, std::move(entry)).first;
    }
    last_ = found->second.get();
    last_key_ = key;
  }
  last_->last_use = ++uses_;
  return Lease{last_, TakeRunner(last_)};
}

size_t PlanCache::TakeRunner(CachedPlan* entry) {
  const auto free = std::find(entry->busy.begin(), entry->busy.end(), false);
  const size_t index = static_cast<size_t>(free - entry->busy.begin());
  if (free == entry->busy.end()) {
    entry->runners.push_back(std::make_unique<PlanRunner>(entry->plan, listener_));
    entry->busy.push_back(false);
  }
  entry->busy[index] = true;
  return index;
}

void PlanCache::Release(const Lease& lease) {
  lease.plan->busy[lease.runner] = false;
  if (lease.plan->cached) return;
  const auto entry = std::find_if(uncached_.begin(), uncached_.end(),
                                  [&](const auto& held) { return held.get() == lease.plan; });
  uncached_.erase(entry);
}

void PlanCache::EvictOldest() {
  auto oldest = plans_.end();
  for (auto entry = plans_.begin(); entry != plans_.end(); ++entry) {
    const std::vector<bool>& busy = entry->second->busy;
    if (std::find(busy.begin(), busy.end(), true) != busy.end()) continue;
    if (oldest == plans_.end() || entry->second->last_use < oldest->second->last_use) {
      oldest = entry;
    }
  }
  if (oldest == plans_.end()) return;
  if (last_ == oldest->second.get()) last_ = nullptr;
  plans_.erase(oldest);
}

}  // namespace phalanx::engine
