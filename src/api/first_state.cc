#include "first_state.h"

#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::api {
namespace {

absl::Status CheckNames(absl::Span<const StateRegion> regions) {
  std::set<std::string> names;
  for (const StateRegion& region : regions) {
    if (!names.insert(region.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two regions are called \"", region.name, "\"; give each its own name"));
    }
    if (region.data == nullptr && region.bytes > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("region \"", region.name, "\" has ", region.bytes, " bytes at no address"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FirstState::Describe(absl::Span<const StateRegion> regions) {
  PHX_RETURN_IF_ERROR(CheckNames(regions));
  if (is_described_) return Compare(regions);
  for (const StateRegion& region : regions) {
    regions_.push_back({region.name, region.bytes, {}});
    bytes_ += region.bytes;
  }
  is_described_ = true;
  return absl::OkStatus();
}

void FirstState::KeepOrRestore(absl::Span<const StateRegion> regions) {
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].bytes == 0) continue;
    if (is_kept_) {
      std::memcpy(regions[i].data, regions_[i].copy.data(), regions[i].bytes);
    } else {
      const auto* const begin = static_cast<const std::byte*>(regions[i].data);
      regions_[i].copy.assign(begin, begin + regions[i].bytes);
    }
  }
  is_kept_ = true;
}

void FirstState::Keep(absl::Span<const StateRegion> regions) {
  if (!is_kept_ && !is_forgotten_) KeepOrRestore(regions);
}

void FirstState::Forget() {
  is_forgotten_ = true;
  is_kept_ = false;
  for (Region& region : regions_) region.copy = {};
}

absl::Status FirstState::Compare(absl::Span<const StateRegion> regions) const {
  if (regions.size() != regions_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "given ", regions.size(), " regions; in this rank's first view it was ", regions_.size()));
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region& described = regions_[i];
    if (regions[i].name == described.name && regions[i].bytes == described.bytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "given region \"", regions[i].name, "\" of ", regions[i].bytes, " bytes where it was \"",
        described.name, "\" of ", described.bytes, " bytes in this rank's first view"));
  }
  return absl::OkStatus();
}

}  // namespace phalanx::api
