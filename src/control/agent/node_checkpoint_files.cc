// NodeCheckpoints' part for the persistent tier: what a rank's bytes consist of, which room is
// written to files, and a room that was read from there.
#include <utility>

#include "absl/strings/str_cat.h"
#include "node_checkpoints.h"

namespace phalanx::control {

absl::Status NodeCheckpoints::OnDescribeState(uint64_t worker,
                                              const checkpoint::DescribeState& state) {
  if (tier_ == nullptr) return absl::OkStatus();
  StateLayout& layout = layouts_[worker];
  for (const checkpoint::DescribeState::Region& region : state.regions) {
    layout.push_back({region.name, std::nullopt, {}, region.bytes});
  }
  // Far more than a file could name.
  constexpr size_t kMostRegions = 1'000'000;
  if (layout.size() <= kMostRegions) return absl::OkStatus();
  return absl::InvalidArgumentError("its state has more regions than a file can hold");
}

// We read the memory by it.
absl::StatusOr<std::shared_ptr<const StateLayout>> NodeCheckpoints::TakeLayout(uint64_t worker,
                                                                               uint64_t bytes) {
  if (tier_ == nullptr) return nullptr;
  auto layout = std::make_shared<StateLayout>(std::move(layouts_[worker]));
  layouts_.erase(worker);
  for (const checkpoint::RegionLayout& region : *layout) {
    if (region.bytes > bytes) return absl::InvalidArgumentError("its regions exceed its state");
    bytes -= region.bytes;
  }
  if (bytes > 0) return absl::InvalidArgumentError("its state has bytes in no region");
  return layout;
}

void NodeCheckpoints::OnPersist(const checkpoint::Persist& persist) {
  if (tier_ == nullptr) return;
  for (const auto& [rank, local] : ranks_) PersistRank(persist, rank);
}

void NodeCheckpoints::PersistRank(const checkpoint::Persist& persist, int rank) {
  const auto shard = shards_.find({persist.name, rank});
  const Rooms& rooms = rooms_[ranks_.at(rank).worker];
  // One that came from another agent came without.
  if (shard != shards_.end() && shard->second->layout == nullptr && !rooms.empty()) {
    shard->second->layout = rooms.front()->layout;
  }
  if (shard == shards_.end() || shard->second->layout == nullptr) {
    tier_->CannotWrite(persist.name, rank,
                       absl::StrCat("the node of rank ", rank, " has no copy of its shard"));
    return;
  }
  // Another version that a view before this one began to write: with both there would be no room
  // to save in.
  for (const std::shared_ptr<Room>& room : rooms) {
    if (!room->is_read) continue;
    tier_->CannotWrite(persist.name, rank,
                       absl::StrCat("an earlier shard of rank ", rank, " still is being written"));
    return;
  }
  const std::shared_ptr<Room> room = shard->second;
  room->is_read = true;
  tier_->Write(persist, rank, room->memory, room->layout, [this, room] {
    room->is_read = false;
    for (const auto& [waiting, local] : ranks_) GiveVerdict(waiting);
  });
}

void NodeCheckpoints::ReadFiles(int rank) {
  LocalRank& local = ranks_.at(rank);
  const auto rooms = rooms_.find(local.worker);
  if (tier_ == nullptr || rooms == rooms_.end() || rooms->second.empty()) {
    return EndFetch(rank, checkpoint::LoadResult::kNoAnswer);
  }
  local.load_sent = true;
  tier_->Read(
      *local.fetch, rooms->second.front()->layout,
      [this, epoch = epoch_, fetch = *local.fetch](absl::StatusOr<NodeTier::Loaded> loaded) {
        OnFilesRead(epoch, fetch, std::move(loaded));
      });
}

void NodeCheckpoints::OnFilesRead(Epoch epoch, const checkpoint::Fetch& fetch,
                                  absl::StatusOr<NodeTier::Loaded> loaded) {
  const auto local = ranks_.find(fetch.rank);
  // The coordinator has given this one up meanwhile.
  if (epoch != epoch_ || local == ranks_.end() || !local->second.fetch.has_value() ||
      local->second.fetch->round != fetch.round) {
    return;
  }
  absl::StatusOr<SharedFd> fd = loaded.ok() ? (*loaded).memory->ForReading() : loaded.status();
  if (!fd.ok()) {
    logger_.Warning(std::string(fd.status().message()));
    // What isn't there, isn't whole or isn't of this program won't be so the next time either.
    const bool is_final = absl::IsDataLoss(fd.status()) || absl::IsNotFound(fd.status()) ||
                          absl::IsFailedPrecondition(fd.status()) ||
                          absl::IsPermissionDenied(fd.status()) ||
                          absl::IsUnimplemented(fd.status());
    return EndFetch(fetch.rank, is_final ? checkpoint::LoadResult::kCorrupt
                                         : checkpoint::LoadResult::kNoAnswer);
  }
  local->second.load_bytes = loaded->memory->bytes();
  handlers_.to_worker(
      local->second.worker,
      checkpoint::Load{fetch.name, loaded->digest, fetch.round, loaded->memory->bytes(), false},
      {*std::move(fd)});
}

}  // namespace phalanx::control
