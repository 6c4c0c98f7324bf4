#include "control_process/memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace phalanx::control {
namespace {

constexpr char kGroups[] = "/sys/fs/cgroup";

// Empty if it can't be read.
std::string TextOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The number that follows `name` on a line of its own.
std::optional<uint64_t> Field(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    absl::ConsumeSuffix(&line, " kB");
    uint64_t value = 0;
    if (absl::SimpleAtoi(line, &value)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> AvailableInMachine(absl::string_view meminfo) {
  const std::optional<uint64_t> kib = Field(meminfo, "MemAvailable:");
  if (!kib.has_value()) return std::nullopt;
  return *kib << 10;
}

std::optional<uint64_t> AvailableInGroup(absl::string_view max, absl::string_view current,
                                         absl::string_view stat) {
  uint64_t limit = 0;
  uint64_t used = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(max), &limit) ||
      !absl::SimpleAtoi(absl::StripAsciiWhitespace(current), &used)) {
    return std::nullopt;
  }
  used -= std::min(used, Field(stat, "inactive_file ").value_or(0));
  return limit - std::min(limit, used);
}

uint64_t AvailableMemory() {
  uint64_t available =
      AvailableInMachine(TextOf("/proc/meminfo")).value_or(std::numeric_limits<uint64_t>::max());
  absl::string_view group;
  const std::string groups = TextOf("/proc/self/cgroup");
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    if (absl::StartsWith(line, "0::/")) group = absl::StripPrefix(line, "0::");
  }
  // A limit above it holds for the group as well.
  for (; !group.empty(); group = group.substr(0, group.rfind('/'))) {
    const std::string folder = absl::StrCat(kGroups, group, group == "/" ? "" : "/");
    const std::optional<uint64_t> in_group = AvailableInGroup(
        TextOf(absl::StrCat(folder, "memory.max")), TextOf(absl::StrCat(folder, "memory.current")),
        TextOf(absl::StrCat(folder, "memory.stat")));
    if (in_group.has_value()) available = std::min(available, *in_group);
  }
  return available;
}

}  // namespace phalanx::control
