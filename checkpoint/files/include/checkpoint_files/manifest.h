// The file that makes a version of the persistent tier count: files without one don't exist.
#ifndef PHALANX_CHECKPOINT_FILES_MANIFEST_H_
#define PHALANX_CHECKPOINT_FILES_MANIFEST_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint_files/names.h"
#include "checkpoint_files/shard.h"

namespace phalanx::checkpoint {

struct Manifest {
  // By the clock of whoever writes it, but later than what the job went on from: tells jobs' order.
  int64_t committed_unix_ms = 0;
  std::vector<ShardRecord> shards;  // by rank

  bool operator==(const Manifest&) const = default;
};

// Called by one process once the job's record names the version and every rank's WriteShard has
// returned. Looks that each rank's file is there with its size (FAILED_PRECONDITION if not:
// `place.folder` must be the same for all ranks), writes the manifest under another name, syncs,
// renames, and syncs the folders. After it has returned OK, the version outlives a loss of power.
// To repeat it does no harm; ALREADY_EXISTS if the version's manifest names other shards.
absl::Status WriteManifest(const VersionPlace& place, const Manifest& manifest);

// NOT_FOUND when the version doesn't exist; DATA_LOSS when what is there isn't its manifest;
// UNIMPLEMENTED when a later release wrote it.
absl::StatusOr<Manifest> ReadManifest(const VersionPlace& place);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_MANIFEST_H_
