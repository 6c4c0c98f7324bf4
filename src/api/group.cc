#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "group_entry.h"
#include "phalanx/communicator.h"
#include "work_access.h"

namespace phalanx {

Group::Group() = default;
Group::~Group() = default;

Work Group::Launch() {
  const std::vector<std::unique_ptr<api::GroupEntry>> entries = std::exchange(entries_, {});
  absl::Status error = std::exchange(error_, absl::OkStatus());
  for (const auto& entry : entries) {
    if (&entry->communicator->session() != &entries.front()->communicator->session()) {
      error.Update(absl::InvalidArgumentError(
          "the calls of a group belong to communicators of different sessions; use one group for "
          "each session"));
    }
  }
  if (!error.ok() || entries.empty()) return Work(error);
  std::vector<Work> parts;
  parts.reserve(entries.size());
  for (const auto& entry : entries) {
    parts.push_back(WorkAccess::Make(entry->communicator->channel().Issue(entry->request)));
  }
  return WorkAccess::Join(std::move(parts));
}

}  // namespace phalanx
