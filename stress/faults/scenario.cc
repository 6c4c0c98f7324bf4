#include "fault_stress/scenario.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace phalanx::stress {
namespace {

const std::set<std::string>& KnownOptions() {
  static const auto* const options =
      new std::set<std::string>{"-n", "--nodes", "--spares", "--replicas"};
  return *options;
}

// A colon inside of a word (at=step:3, host:2) is no end of the head.
absl::StatusOr<Scenario> ParseLine(absl::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError("it isn't NAME [OPTION VALUE]…: FAULT; FAULT …");
  }
  const std::vector<std::string> head =
      absl::StrSplit(line.substr(0, colon), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (head.empty()) return absl::InvalidArgumentError("it has no name");
  Scenario scenario;
  scenario.name = head[0];
  for (size_t i = 1; i < head.size(); i += 2) {
    if (KnownOptions().count(head[i]) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown option '", head[i], "'; known are -n, --nodes, --spares and --replicas"));
    }
    if (i + 1 == head.size()) {
      return absl::InvalidArgumentError(absl::StrCat("'", head[i], "' has no value"));
    }
    scenario.options[head[i]] = head[i + 1];
  }
  std::mt19937_64 unused;
  for (const absl::string_view fault :
       absl::StrSplit(line.substr(colon + 1), ';', absl::SkipWhitespace())) {
    scenario.faults.emplace_back(absl::StripAsciiWhitespace(fault));
    PHX_RETURN_IF_ERROR(Draw(scenario.faults.back(), &unused).status());
  }
  if (scenario.faults.empty()) return absl::InvalidArgumentError("it has no fault");
  return scenario;
}

}  // namespace

absl::StatusOr<std::vector<Scenario>> ParseScenarios(absl::string_view text) {
  std::vector<Scenario> scenarios;
  std::set<std::string> names;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    absl::StatusOr<Scenario> scenario = ParseLine(line);
    if (scenario.ok() && !names.insert(scenario->name).second) {
      scenario = absl::InvalidArgumentError(absl::StrCat("a second '", scenario->name, "'"));
    }
    if (!scenario.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", scenario.status().message()));
    }
    scenarios.push_back(*std::move(scenario));
  }
  if (scenarios.empty()) return absl::InvalidArgumentError("there is no scenario");
  return scenarios;
}

absl::StatusOr<std::string> Draw(absl::string_view pattern, std::mt19937_64* random) {
  std::string drawn;
  while (true) {
    const size_t begin = pattern.find('{');
    absl::StrAppend(&drawn, pattern.substr(0, begin));
    if (begin == absl::string_view::npos) return drawn;
    const size_t end = pattern.find('}', begin);
    const absl::string_view inside = pattern.substr(begin + 1, end - begin - 1);
    const std::pair<absl::string_view, absl::string_view> bounds =
        absl::StrSplit(inside, absl::MaxSplits("..", 1));
    int64_t from = 0;
    int64_t to = 0;
    if (end == absl::string_view::npos || !absl::SimpleAtoi(bounds.first, &from) ||
        !absl::SimpleAtoi(bounds.second, &to) || from < 0 || to < from) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", pattern, "': no numbers as in {0..3} between its braces"));
    }
    // Not a distribution of the library: a seed means the same everywhere.
    const uint64_t count = static_cast<uint64_t>(to - from) + 1;
    absl::StrAppend(&drawn, from + static_cast<int64_t>((*random)() % count));
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace phalanx::stress
