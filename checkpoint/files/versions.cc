#include "checkpoint_files/versions.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "file_io.h"
#include "manifest_files.h"

namespace phalanx::checkpoint {
namespace {

// What the job's folder has of versions, committed or not; the newest first.
absl::StatusOr<std::vector<VersionName>> VersionNames(const std::string& folder,
                                                      const std::string& job) {
  PHX_ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       NamesIn(absl::StrCat(folder, "/", job)));
  std::vector<VersionName> names;
  for (const std::string& entry : entries) {
    const std::optional<VersionName> name = ParseVersionFolderName(entry);
    if (name.has_value()) names.push_back(*name);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

// Nothing if the version doesn't exist.
std::optional<FoundVersion> Look(const VersionPlace& place) {
  if (!Exists(ManifestPath(place))) return std::nullopt;
  FoundVersion found{.place = place};
  absl::StatusOr<Manifest> manifest = ReadManifest(place);
  if (!manifest.ok()) {
    found.state = manifest.status();
  } else {
    found.manifest = *std::move(manifest);
    const std::string fault = FilesFault(place, found.manifest);
    if (!fault.empty()) found.state = absl::DataLossError(fault);
  }
  // Somebody may be removing it: then the manifest was gone before anything else was.
  if (!found.state.ok() && !Exists(ManifestPath(place))) return std::nullopt;
  return found;
}

absl::StatusOr<std::vector<FoundVersion>> VersionsOf(const std::string& folder,
                                                     const std::string& job) {
  PHX_ASSIGN_OR_RETURN(const std::vector<VersionName> names, VersionNames(folder, job));
  std::vector<FoundVersion> versions;
  for (const VersionName& name : names) {
    std::optional<FoundVersion> found = Look({.folder = folder, .job = job, .name = name});
    if (found.has_value()) versions.push_back(*std::move(found));
  }
  return versions;
}

// Of a folder that was just removed, or is another user's.
bool HasNoneForUs(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status);
}

struct JobVersions {
  std::string job;
  int64_t committed_unix_ms = -1;  // the last
  std::vector<FoundVersion> versions;
};

bool IsOurs(const std::string& name) {
  return absl::StartsWith(name, "manifest.json.partial-") ||
         (absl::StartsWith(name, "rank-") && absl::StrContains(name, ".safetensors"));
}

// What others have put there keeps it.
absl::Status RemoveEmptyFolder(const std::string& folder) {
  if (rmdir(folder.c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT) {
    return absl::OkStatus();
  }
  return FileError(errno, folder, "can't be removed");
}

absl::Status RemoveVersion(const VersionPlace& place) {
  const std::string folder = PathOf(place);
  PHX_RETURN_IF_ERROR(RemoveFile(ManifestPath(place)));
  PHX_RETURN_IF_ERROR(SyncFolder(folder));
  PHX_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    if (IsOurs(name)) PHX_RETURN_IF_ERROR(RemoveFile(absl::StrCat(folder, "/", name)));
  }
  return RemoveEmptyFolder(folder);
}

}  // namespace

uint64_t FoundVersion::Bytes() const {
  uint64_t bytes = 0;
  for (const ShardRecord& shard : manifest.shards) bytes += shard.bytes;
  return bytes;
}

absl::StatusOr<std::vector<FoundVersion>> ListVersions(const std::string& folder) {
  PHX_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  std::vector<JobVersions> jobs;
  for (const std::string& name : names) {
    if (!IsJobName(name) || !IsFolder(absl::StrCat(folder, "/", name))) continue;
    absl::StatusOr<std::vector<FoundVersion>> versions = VersionsOf(folder, name);
    if (!versions.ok() && HasNoneForUs(versions.status())) continue;
    if (!versions.ok()) return versions.status();
    JobVersions job{.job = name, .versions = *std::move(versions)};
    for (const FoundVersion& version : job.versions) {
      if (version.manifest.shards.empty()) continue;
      job.committed_unix_ms = std::max(job.committed_unix_ms, version.manifest.committed_unix_ms);
    }
    jobs.push_back(std::move(job));
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobVersions& a, const JobVersions& b) {
    return std::tie(b.committed_unix_ms, a.job) < std::tie(a.committed_unix_ms, b.job);
  });
  std::vector<FoundVersion> all;
  for (JobVersions& job : jobs) {
    std::move(job.versions.begin(), job.versions.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<absl::Status> VerifyVersion(const FoundVersion& version) {
  if (version.manifest.shards.empty()) return {version.state};
  std::vector<absl::Status> faults;
  const int ranks = static_cast<int>(version.manifest.shards.size());
  for (int rank = 0; rank < ranks; ++rank) {
    absl::Status status = VerifyShard(ShardPath(version.place, rank, ranks),
                                      version.manifest.shards[static_cast<size_t>(rank)]);
    if (!status.ok()) faults.push_back(std::move(status));
  }
  return faults;
}

absl::Status RemoveOldVersions(const std::string& folder, const std::string& job, int keep) {
  if (keep < 1 || !IsJobName(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": can't keep ", keep, " versions of a job '", job, "'"));
  }
  PHX_ASSIGN_OR_RETURN(const std::vector<FoundVersion> versions, VersionsOf(folder, job));
  std::optional<VersionName> oldest_kept;
  int whole = 0;
  for (const FoundVersion& version : versions) {
    if (version.state.ok() && ++whole == keep) oldest_kept = version.place.name;
  }
  if (!oldest_kept.has_value()) return absl::OkStatus();
  PHX_ASSIGN_OR_RETURN(const std::vector<VersionName> names, VersionNames(folder, job));
  for (const VersionName& name : names) {
    if (name >= *oldest_kept) continue;
    PHX_RETURN_IF_ERROR(RemoveVersion({.folder = folder, .job = job, .name = name}));
  }
  return SyncFolder(absl::StrCat(folder, "/", job));
}

absl::Status RemoveJob(const std::string& folder, const std::string& job) {
  const std::string path = absl::StrCat(folder, "/", job);
  if (!IsJobName(job)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": isn't a job's folder"));
  }
  PHX_ASSIGN_OR_RETURN(const std::vector<VersionName> names, VersionNames(folder, job));
  for (const VersionName& name : names) {
    PHX_RETURN_IF_ERROR(RemoveVersion({.folder = folder, .job = job, .name = name}));
  }
  return RemoveEmptyFolder(path);
}

}  // namespace phalanx::checkpoint
