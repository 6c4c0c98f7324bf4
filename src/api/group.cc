#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "phalanx/communicator.h"
#include "recorded_call.h"
#include "session_state.h"
#include "work_access.h"

namespace phalanx {

Group::Group() = default;
Group::~Group() = default;

Work Group::Launch() {
  const std::vector<std::unique_ptr<api::RecordedCall>> entries = std::exchange(entries_, {});
  absl::Status error = std::exchange(error_, absl::OkStatus());
  for (const auto& entry : entries) {
    if (&entry->communicator->session() != &entries.front()->communicator->session()) {
      error.Update(absl::InvalidArgumentError(
          "the calls of a group belong to communicators of different sessions; use one group for "
          "each session"));
    }
  }
  if (!error.ok() || entries.empty()) return Work(error);
  // A stream reaches all its operations of the group together, and then waits for the end of each.
  std::vector<engine::Operation*> operations;
  operations.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    engine::Request& request = entries[i]->request;
    request.stream_waits = false;
    request.beside =
        request.stream != nullptr &&
        std::any_of(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(i),
                    [&](const auto& earlier) { return earlier->request.stream == request.stream; });
    operations.push_back(entries[i]->communicator->Issue(request));
  }
  std::vector<Work> parts;
  parts.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    device::Stream* const stream = entries[i]->request.stream;
    if (stream != nullptr) error.Update(stream->WaitFor(operations[i]->end_event()));
    parts.push_back(WorkAccess::Make(operations[i]));
  }
  if (!error.ok()) entries.front()->communicator->session().engine().Abort(error);
  return WorkAccess::Join(std::move(parts));
}

}  // namespace phalanx
