#include "node_tier.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_files/lineage.h"
#include "checkpoint_files/manifest.h"

namespace phalanx::control {
namespace {

using checkpoint::Tier;
using checkpoint::TierVersion;
using checkpoint::VersionPlace;

int64_t UnixMilliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// Damaged versions are said, and passed over.
Tier FindVersions(const std::string& folder, const Logger& logger) {
  const absl::StatusOr<std::vector<checkpoint::FoundVersion>> all =
      checkpoint::ListVersions(folder);
  if (!all.ok()) return {{}, std::string(all.status().message())};
  for (const checkpoint::FoundVersion& version : *all) {
    if (version.state.ok()) continue;
    logger.Warning(absl::StrCat("a saved version is damaged: ", version.state.message()));
  }
  Tier tier;
  for (const checkpoint::FoundVersion& version : checkpoint::Lineage(*all)) {
    if (tier.versions.size() == checkpoint::kMostVersions) break;
    tier.versions.push_back({version.place.name, version.place.job,
                             static_cast<int>(version.manifest.shards.size()),
                             version.manifest.committed_unix_ms});
  }
  return tier;
}

std::vector<checkpoint::SavedRegion> RegionsOf(const StateLayout& layout, const char* data) {
  std::vector<checkpoint::SavedRegion> regions;
  for (const checkpoint::RegionLayout& region : layout) {
    regions.push_back({region, data});
    data += region.bytes;
  }
  return regions;
}

absl::Status Fill(const SnapshotMemory& memory, const StateLayout& layout, const std::string& path,
                  const checkpoint::ShardRecord& record) {
  if (memory.bytes() == 0) return checkpoint::VerifyShard(path, record);
  void* const data =
      ::mmap(nullptr, memory.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd()->get(), 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": no memory to read it to: ", strerror(errno)));
  }
  std::vector<checkpoint::RestoredRegion> regions;
  char* next = static_cast<char*>(data);
  for (const checkpoint::RegionLayout& region : layout) {
    regions.push_back({region, next});
    next += region.bytes;
  }
  absl::Status status = checkpoint::ReadShard(path, record, regions);
  ::munmap(data, memory.bytes());
  return status;
}

absl::StatusOr<NodeTier::Loaded> ReadToMemory(const VersionPlace& place,
                                              const checkpoint::Fetch& fetch, int ranks,
                                              const StateLayout& layout) {
  PHX_ASSIGN_OR_RETURN(const checkpoint::Manifest manifest, checkpoint::ReadManifest(place));
  if (manifest.shards.size() != static_cast<size_t>(ranks)) {
    return absl::FailedPreconditionError(absl::StrCat(checkpoint::ManifestPath(place), ": is of ",
                                                      manifest.shards.size(), " ranks, not of ",
                                                      ranks));
  }
  const std::string path = checkpoint::ShardPath(place, fetch.rank, ranks);
  const checkpoint::ShardRecord& record = manifest.shards[static_cast<size_t>(fetch.rank)];
  // Without a digest the manifest alone knows.
  if (fetch.digest != checkpoint::Digest{} && fetch.digest != record.digest) {
    return absl::DataLossError(absl::StrCat(path, ": isn't what the job has committed"));
  }
  uint64_t bytes = 0;
  for (const checkpoint::RegionLayout& region : layout) bytes += region.bytes;
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<const SnapshotMemory> memory, SnapshotMemory::Create(bytes));
  PHX_RETURN_IF_ERROR(Fill(*memory, layout, path, record));
  return NodeTier::Loaded{std::move(memory), record.digest};
}

}  // namespace

NodeTier::NodeTier(asio::io_context& context, PersistSettings settings, std::string job, Tell tell,
                   Logger logger)
    : settings_(std::move(settings)),
      job_(std::move(job)),
      tell_(std::move(tell)),
      logger_(std::move(logger)),
      files_(context) {}

VersionPlace NodeTier::PlaceOf(const checkpoint::VersionName& name, const std::string& job) const {
  return {settings_.folder, job, name};
}

bool NodeTier::FromCoordinator(const checkpoint::Message& message) {
  if (std::holds_alternative<checkpoint::AskTier>(message)) {
    List();
  } else if (const auto* tier = std::get_if<Tier>(&message)) {
    versions_ = tier->versions;
  } else if (const auto* written = std::get_if<checkpoint::ShardWritten>(&message)) {
    Collect(*written);
  } else {
    return false;
  }
  return true;
}

void NodeTier::List() {
  files_.Post([this, folder = settings_.folder, logger = logger_] {
    Tier tier = FindVersions(folder, logger);
    return [this, tier = std::move(tier)] { tell_(tier); };
  });
}

void NodeTier::CannotWrite(const checkpoint::VersionName& name, int rank, const std::string& why) {
  tell_(checkpoint::PersistFailed{name, rank, why});
}

void NodeTier::Write(const checkpoint::Persist& persist, int rank,
                     std::shared_ptr<const SnapshotMemory> memory,
                     std::shared_ptr<const StateLayout> layout, std::function<void()> done) {
  persist_ = persist;
  const VersionPlace place = PlaceOf(persist.name, job_);
  files_.Post([this, place, rank, ranks = persist.ranks, memory = std::move(memory),
               layout = std::move(layout), done = std::move(done)]() -> FileThread::Result {
    const auto record = checkpoint::WriteShard(
        place, rank, ranks, RegionsOf(*layout, reinterpret_cast<const char*>(memory->data())));
    return [this, name = place.name, rank, record, done] {
      if (record.ok()) {
        tell_(checkpoint::ShardWritten{name, rank, record->bytes, record->digest, record->crc32c});
      } else {
        CannotWrite(name, rank, std::string(record.status().message()));
      }
      done();
    };
  });
}

// Only the agent of rank 0 hears of the others' shards, each of which was compared with the record.
void NodeTier::Collect(const checkpoint::ShardWritten& written) {
  if (!persist_.has_value() || persist_->name != written.name) return;
  if (collected_.name != written.name) collected_ = {written.name, {}};
  collected_.shards[written.rank] = {written.bytes, written.digest, written.crc32c};
  if (static_cast<int>(collected_.shards.size()) < persist_->ranks) return;
  Seal(std::exchange(collected_, {}));
}

void NodeTier::Seal(const Collected& collected) {
  checkpoint::Manifest manifest;
  manifest.committed_unix_ms = UnixMilliseconds();
  if (!versions_.empty()) {
    manifest.committed_unix_ms =
        std::max(manifest.committed_unix_ms, versions_.front().committed_unix_ms + 1);
  }
  for (const auto& [rank, shard] : collected.shards) manifest.shards.push_back(shard);
  Tier tier{versions_, ""};
  tier.versions.insert(tier.versions.begin(),
                       {collected.name, job_, persist_->ranks, manifest.committed_unix_ms});
  const size_t kept = settings_.keep == 0 ? checkpoint::kMostVersions
                                          : std::min<size_t>(static_cast<size_t>(settings_.keep),
                                                             checkpoint::kMostVersions);
  if (tier.versions.size() > kept) tier.versions.resize(kept);
  files_.Post([this, place = PlaceOf(collected.name, job_), manifest = std::move(manifest),
               tier = std::move(tier), keep = settings_.keep,
               logger = logger_]() -> FileThread::Result {
    const absl::Status status = checkpoint::WriteManifest(place, manifest);
    if (!status.ok()) {
      return [this, name = place.name, status] {
        CannotWrite(name, -1, std::string(status.message()));
      };
    }
    if (keep > 0) {
      const absl::Status removed = checkpoint::RemoveSuperseded(place.folder, place.job, keep);
      if (!removed.ok()) logger.Warning(std::string(removed.message()));
    }
    return [this, tier] { tell_(tier); };
  });
}

void NodeTier::Read(const checkpoint::Fetch& fetch, std::shared_ptr<const StateLayout> layout,
                    OnLoaded on_loaded) {
  const auto version =
      std::find_if(versions_.begin(), versions_.end(),
                   [&](const TierVersion& candidate) { return candidate.name == fetch.name; });
  if (version == versions_.end()) {
    on_loaded(
        absl::NotFoundError(absl::StrCat(settings_.folder, ": holds no ", Describe(fetch.name))));
    return;
  }
  files_.Post([place = PlaceOf(fetch.name, version->job), fetch, ranks = version->ranks,
               layout = std::move(layout),
               on_loaded = std::move(on_loaded)]() -> FileThread::Result {
    absl::StatusOr<Loaded> loaded = ReadToMemory(place, fetch, ranks, *layout);
    return [loaded = std::move(loaded), on_loaded] { on_loaded(loaded); };
  });
}

}  // namespace phalanx::control
