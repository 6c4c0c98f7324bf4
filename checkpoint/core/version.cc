#include "checkpoint/version.h"

#include "absl/strings/str_cat.h"

namespace phalanx::checkpoint {

VersionName Newest(const RecordView& record) {
  return record.kept.empty() ? kInitialVersion : record.kept.front().name;
}

std::string Describe(const VersionName& name) {
  if (name == kInitialVersion) return "the state as the program began";
  return absl::StrCat("version ", name.version, " of epoch ", name.epoch);
}

}  // namespace phalanx::checkpoint
