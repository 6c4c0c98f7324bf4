#include "phalanx/graph.h"

#include <utility>
#include <vector>

#include "recorded_call.h"
#include "work_access.h"

namespace phalanx {

Graph::Graph() = default;
Graph::~Graph() = default;

Work Graph::Launch(Stream* stream) {
  if (!error_.ok() || entries_.empty()) return Work(error_);
  std::vector<Work> parts;
  parts.reserve(entries_.size());
  for (const auto& entry : entries_) {
    engine::Request request = entry->request;
    request.stream = stream == nullptr ? nullptr : &stream->device_stream();
    parts.push_back(WorkAccess::Make(entry->communicator->Issue(request)));
  }
  return WorkAccess::Join(std::move(parts));
}

}  // namespace phalanx
