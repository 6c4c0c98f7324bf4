#include "control_protocol/launcher_notice.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace phalanx::control {
namespace {

constexpr char kEvicted[] = "evicted ";
constexpr char kFault[] = "fault ";

}  // namespace

std::string ToLine(const LauncherNotice& notice) {
  if (const auto* evicted = std::get_if<NodeEvicted>(&notice)) {
    return absl::StrCat(kEvicted, evicted->node);
  }
  return absl::StrCat(kFault, std::get<LinkFaultDue>(notice).fault);
}

absl::StatusOr<LauncherNotice> ParseLauncherNotice(absl::string_view line) {
  absl::string_view rest = line;
  if (absl::ConsumePrefix(&rest, kEvicted)) {
    NodeEvicted evicted;
    if (absl::SimpleAtoi(rest, &evicted.node) && evicted.node >= 0) return LauncherNotice(evicted);
  } else if (absl::ConsumePrefix(&rest, kFault) && !rest.empty()) {
    return LauncherNotice(LinkFaultDue{std::string(rest)});
  }
  return absl::InvalidArgumentError(absl::StrCat("no notice of a coordinator: '", line, "'"));
}

}  // namespace phalanx::control
