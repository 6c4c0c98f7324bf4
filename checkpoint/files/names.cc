#include "checkpoint_files/names.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace phalanx::checkpoint {

bool IsJobName(const std::string& text) {
  if (text.empty() || text.size() > 64 || text[0] == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

absl::Status CheckPlace(const VersionPlace& place) {
  if (!IsJobName(place.job)) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.folder, ": '", absl::Utf8SafeCEscape(place.job),
                     "' names no job: 1 to 64 letters, digits, '-', '_' and '.'"));
  }
  if (place.name.version < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.folder, ": ", Describe(place.name), " isn't kept in files"));
  }
  return absl::OkStatus();
}

std::string VersionFolderName(const VersionName& name) {
  return absl::StrCat("version-", name.version, "-epoch-", name.epoch);
}

std::optional<VersionName> ParseVersionFolderName(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  VersionName name;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[1], &name.version) ||
      !absl::SimpleAtoi(parts[3], &name.epoch) || name.version < 0 ||
      VersionFolderName(name) != text) {
    return std::nullopt;
  }
  return name;
}

std::string ShardFileName(int rank, int ranks) {
  return absl::StrFormat("rank-%05d-of-%05d.safetensors", rank, ranks);
}

std::string PathOf(const VersionPlace& place) {
  return absl::StrCat(place.folder, "/", place.job, "/", VersionFolderName(place.name));
}

std::string ShardPath(const VersionPlace& place, int rank, int ranks) {
  return absl::StrCat(PathOf(place), "/", ShardFileName(rank, ranks));
}

std::string ManifestPath(const VersionPlace& place) {
  return absl::StrCat(PathOf(place), "/manifest.json");
}

}  // namespace phalanx::checkpoint
