// What a job's coordinator tells the launcher that started it, over a pipe: one line each.
#ifndef PHALANX_CONTROL_PROTOCOL_LAUNCHER_NOTICE_H_
#define PHALANX_CONTROL_PROTOCOL_LAUNCHER_NOTICE_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phalanx::control {

// The job goes on without that node, which is in the record; whoever started its agent needn't wait
// for it. Said again by each coordinator that comes later.
struct NodeEvicted {
  int node = 0;

  bool operator==(const NodeEvicted&) const = default;
};

// A fault of the network (faults::IsOfNetwork), which the launcher has: it begins now. Said once,
// after the record has it.
struct LinkFaultDue {
  std::string fault;  // see faults/fault.h

  bool operator==(const LinkFaultDue&) const = default;
};

using LauncherNotice = std::variant<NodeEvicted, LinkFaultDue>;

// Without an end of line; a fault has none in it.
std::string ToLine(const LauncherNotice& notice);
// INVALID_ARGUMENT quotes a line that ToLine() doesn't write. A fault's words aren't looked at.
absl::StatusOr<LauncherNotice> ParseLauncherNotice(absl::string_view line);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROTOCOL_LAUNCHER_NOTICE_H_
