#include "checkpoint_files/lineage.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/status_macros.h"

namespace phalanx::checkpoint {

std::vector<FoundVersion> Lineage(const std::vector<FoundVersion>& versions) {
  std::vector<FoundVersion> lineage;
  for (const FoundVersion& version : versions) {
    if (!version.state.ok()) continue;
    const bool falls = lineage.empty() || version.place.name < lineage.back().place.name;
    if (falls) lineage.push_back(version);
  }
  return lineage;
}

absl::Status RemoveSuperseded(const std::string& folder, const std::string& job, int keep) {
  PHX_RETURN_IF_ERROR(RemoveOldVersions(folder, job, keep));
  PHX_ASSIGN_OR_RETURN(const std::vector<FoundVersion> versions, ListVersions(folder));
  int own = 0;
  std::optional<int64_t> oldest_kept;
  std::map<std::string, int64_t> last_commits;  // of the others
  for (const FoundVersion& version : versions) {
    const int64_t committed = version.manifest.committed_unix_ms;
    if (version.place.job != job) {
      int64_t& last = last_commits[version.place.job];
      last = std::max(last, committed);
    } else if (version.state.ok()) {
      ++own;
      oldest_kept = std::min(oldest_kept.value_or(committed), committed);
    }
  }
  if (own < keep) return absl::OkStatus();
  for (const auto& [other, last] : last_commits) {
    if (last < *oldest_kept) PHX_RETURN_IF_ERROR(RemoveJob(folder, other));
  }
  return absl::OkStatus();
}

}  // namespace phalanx::checkpoint
