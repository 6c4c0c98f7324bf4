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

absl::Status FirstState::Keep(absl::Span<const StateRegion> regions) {
  PHX_RETURN_IF_ERROR(CheckNames(regions));
  if (is_kept_) return Compare(regions);
  for (const StateRegion& region : regions) {
    const auto* const begin = static_cast<const std::byte*>(region.data);
    kept_.push_back({region.name, std::vector<std::byte>(begin, begin + region.bytes)});
    bytes_ += region.bytes;
  }
  is_kept_ = true;
  return absl::OkStatus();
}

void FirstState::Restore(absl::Span<const StateRegion> regions) const {
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].bytes == 0) continue;
    std::memcpy(regions[i].data, kept_[i].bytes.data(), regions[i].bytes);
  }
}

absl::Status FirstState::Compare(absl::Span<const StateRegion> regions) const {
  if (regions.size() != kept_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "given ", regions.size(), " regions; in this rank's first view it was ", kept_.size()));
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].name == kept_[i].name && regions[i].bytes == kept_[i].bytes.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "given region \"", regions[i].name, "\" of ", regions[i].bytes, " bytes where it was \"",
        kept_[i].name, "\" of ", kept_[i].bytes.size(), " bytes in this rank's first view"));
  }
  return absl::OkStatus();
}

}  // namespace phalanx::api
