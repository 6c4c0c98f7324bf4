// The versions that a folder holds: to find, to check, to hand on, to remove.
#ifndef PHALANX_CHECKPOINT_FILES_VERSIONS_H_
#define PHALANX_CHECKPOINT_FILES_VERSIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint_files/manifest.h"
#include "checkpoint_files/names.h"

namespace phalanx::checkpoint {

struct FoundVersion {
  VersionPlace place;
  // OK: the manifest is sound and each rank's file has its size. Bytes aren't read; see
  // VerifyVersion. Else what is wrong.
  absl::Status state;
  Manifest manifest;  // empty if it can't be read

  uint64_t Bytes() const;  // of all ranks' files
};

// All versions in `folder` that have a manifest. The job that committed last comes first, and
// within a job the newest version. NOT_FOUND and others when the folder can't be read.
absl::StatusOr<std::vector<FoundVersion>> ListVersions(const std::string& folder);

// Reads every byte. Each thing that is wrong, in the order of ranks; empty: the version is whole.
std::vector<absl::Status> VerifyVersion(const FoundVersion& version);

// Copies the version's files into a new folder `output` and checks every byte of the copies. They
// are called by rank alone. ALREADY_EXISTS when something is there; a failed call leaves nothing.
absl::Status ExportVersion(const FoundVersion& version, const std::string& output);

// Removes what is older than the `keep` (at least 1) newest undamaged versions of `job`,
// half-written ones included; with fewer than that, nothing. A manifest goes before its files, so
// that a version is whole or doesn't exist. Other jobs' versions stay. Not while anything older is
// being read.
absl::Status RemoveOldVersions(const std::string& folder, const std::string& job, int keep);

// Removes all versions of `job` in the same way, half-written ones included.
absl::Status RemoveJob(const std::string& folder, const std::string& job);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_VERSIONS_H_
