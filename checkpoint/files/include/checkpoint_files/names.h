// What the files of the persistent tier are called. DIR stands for the folder that the user names:
//
//   DIR/JOB/version-120-epoch-3/rank-00000-of-00004.safetensors   one a rank
//   DIR/JOB/version-120-epoch-3/manifest.json                     the mark of a commit
//
// Other files may lie beside these; nothing here reads or removes them.
#ifndef PHALANX_CHECKPOINT_FILES_NAMES_H_
#define PHALANX_CHECKPOINT_FILES_NAMES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "checkpoint/version.h"

namespace phalanx::checkpoint {

inline constexpr int kMaxRanks = 65536;

// The place of one version. `folder` is DIR; `job` is the job's incarnation: 1 to 64 letters,
// digits, '-', '_' and '.', not beginning with '.'. One job may be started again in the same DIR
// under another name, and several jobs may share it.
struct VersionPlace {
  std::string folder;
  std::string job;
  VersionName name;

  bool operator==(const VersionPlace&) const = default;
};

// INVALID_ARGUMENT for a job's name of another form and for a version or epoch that files can't
// have: version -1 is kept in memory alone.
absl::Status CheckPlace(const VersionPlace& place);
bool IsJobName(const std::string& text);

std::string VersionFolderName(const VersionName& name);
// Takes exactly what VersionFolderName gives.
std::optional<VersionName> ParseVersionFolderName(const std::string& text);
std::string ShardFileName(int rank, int ranks);

std::string PathOf(const VersionPlace& place);
std::string ShardPath(const VersionPlace& place, int rank, int ranks);
std::string ManifestPath(const VersionPlace& place);

}  // namespace phalanx::checkpoint

#endif  // PHALANX_CHECKPOINT_FILES_NAMES_H_
