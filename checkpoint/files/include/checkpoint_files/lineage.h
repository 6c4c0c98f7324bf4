// The jobs of one training in one folder: each goes on from what the one before it has left.
#ifndef PHALANX_CHECKPOINT_FILES_LINEAGE_H_
#define PHALANX_CHECKPOINT_FILES_LINEAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint_files/versions.h"

namespace phalanx::checkpoint {

// Of what ListVersions gives, the undamaged ones that a new job may go on from, the best first: the
// newest of the job that committed last, and what that one may have come from. Their names fall: a
// job that went on from an older version has given up what others had beyond that.
std::vector<FoundVersion> Lineage(const std::vector<FoundVersion>& versions);

// Does RemoveOldVersions for `job`; and once it has `keep` undamaged versions itself, removes those
// of all jobs whose last commit is older than the oldest of them. A job that never committed
// anything stays.
absl::Status RemoveSuperseded(const std::string& folder, const std::string& job, int keep);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_LINEAGE_H_
