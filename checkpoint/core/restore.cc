#include "checkpoint/restore.h"

#include <algorithm>
#include <utility>

namespace phalanx::checkpoint {

Restore::Restore(const RestoreSettings& settings, const RecordView& record,
                 std::vector<AgentId> owners, const std::vector<Inventory>& inventories,
                 const std::vector<RecordedVersion>& persisted)
    : settings_(settings), owners_(std::move(owners)), round_(settings.rounds_before) {
  std::map<VersionName, Candidate> candidates;
  for (const RecordedVersion& version : record.kept) {
    Candidate& candidate = candidates[version.name];
    candidate.version = version;
    candidate.sources.resize(owners_.size());
    AddSources(inventories, &candidate);
  }
  for (const RecordedVersion& version : persisted) {
    const auto [found, is_new] = candidates.try_emplace(version.name);
    Candidate& candidate = found->second;
    // What the record says of it stands.
    if (is_new) candidate.version = version;
    candidate.sources.resize(owners_.size());
    for (auto& sources : candidate.sources) sources.push_back({Source::Kind::kPersistent, 0});
  }
  if (candidates.empty()) {
    const std::vector<Source> initial{{Source::Kind::kInitial, 0}};
    candidates[kInitialVersion] = {{kInitialVersion, std::vector<Digest>(owners_.size())},
                                   std::vector<std::vector<Source>>(owners_.size(), initial)};
  }
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    candidates_.push_back(std::move(it->second));
  }
}

// A copy whose digest isn't the record's is none.
void Restore::AddSources(const std::vector<Inventory>& inventories, Candidate* candidate) const {
  for (const Inventory& inventory : inventories) {
    for (const ShardItem& item : inventory.items) {
      const auto rank = static_cast<size_t>(item.rank);
      if (item.name != candidate->version.name || rank >= owners_.size()) continue;
      if (item.digest != candidate->version.digests[rank]) continue;
      const bool local = owners_[rank] == inventory.holder;
      const Source::Kind kind = local ? Source::Kind::kLocal : Source::Kind::kReplica;
      candidate->sources[rank].push_back({kind, inventory.holder});
    }
  }
  for (auto& sources : candidate->sources) std::sort(sources.begin(), sources.end());
}

std::vector<RestoreOutput> Restore::Step(const RestoreInput& input) {
  if (!over_) std::visit([this](const auto& value) { Handle(value); }, input);
  return std::exchange(outputs_, {});
}

void Restore::Handle(const RestoreBegins& /*begins*/) { BeginVersion(); }

bool Restore::HasLostShard() {
  const Candidate& candidate = candidates_.front();
  for (size_t rank = 0; rank < owners_.size(); ++rank) {
    if (!candidate.sources[rank].empty()) continue;
    outputs_.push_back(VersionLost{candidate.version.name, static_cast<int>(rank)});
    return true;
  }
  return false;
}

void Restore::BeginVersion() {
  ++round_;
  fetched_.clear();
  attempts_.clear();
  while (!candidates_.empty() && HasLostShard()) candidates_.erase(candidates_.begin());
  if (candidates_.empty()) {
    over_ = true;
    outputs_.push_back(NothingLeft{});
    return;
  }
  for (size_t rank = 0; rank < owners_.size(); ++rank) Ask(rank);
}

void Restore::Ask(size_t rank) {
  const Candidate& candidate = candidates_.front();
  outputs_.push_back(Fetch{static_cast<int>(rank), candidate.version.name,
                           candidate.sources[rank].front(), candidate.version.digests[rank],
                           round_});
}

// Answers about a version or a source that was given up come late.
bool Restore::IsCurrent(int rank, const VersionName& name, const Source& source) const {
  if (rank < 0 || static_cast<size_t>(rank) >= owners_.size() || candidates_.empty()) return false;
  const Candidate& candidate = candidates_.front();
  return candidate.version.name == name && fetched_.count(rank) == 0 &&
         candidate.sources[static_cast<size_t>(rank)].front() == source;
}

void Restore::Handle(const Fetched& fetched) {
  if (!IsCurrent(fetched.rank, fetched.name, fetched.source)) return;
  fetched_.insert(fetched.rank);
  if (fetched_.size() < owners_.size()) return;
  over_ = true;
  outputs_.push_back(Restored{fetched.name});
}

void Restore::Handle(const FetchFailed& failed) {
  if (!IsCurrent(failed.rank, failed.name, failed.source)) return;
  const auto rank = static_cast<size_t>(failed.rank);
  auto& sources = candidates_.front().sources[rank];
  if (failed.corrupt) ++corrupt_;
  if (failed.corrupt || ++attempts_[failed.rank] >= settings_.attempts) {
    sources.erase(sources.begin());
    attempts_.erase(failed.rank);
  }
  if (sources.empty()) {
    BeginVersion();
  } else {
    Ask(rank);
  }
}

}  // namespace phalanx::checkpoint
