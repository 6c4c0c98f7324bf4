#include "faults/fault.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace phalanx::faults {
namespace {

constexpr int kMaxExitCode = 255;

absl::StatusOr<Action> ParseAction(absl::string_view word) {
  if (word == "kill") return Action::kKill;
  if (word == "exit") return Action::kExit;
  if (word == "segfault") return Action::kSegfault;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown action '", word, "'; known are kill, exit and segfault"));
}

const char* NameOf(Action action) {
  switch (action) {
    case Action::kKill:
      return "kill";
    case Action::kExit:
      return "exit";
    case Action::kSegfault:
      return "segfault";
  }
  return "unknown";
}

template <typename Number>
absl::Status ParseNumber(absl::string_view word, absl::string_view digits,
                         std::optional<Number>* to) {
  Number number = 0;
  if (to->has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("'", word, "' says again what was said"));
  }
  if (!absl::SimpleAtoi(digits, &number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", word, "': no number from 0 on"));
  }
  *to = number;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Fault> ParseFault(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) {
    return absl::InvalidArgumentError("no fault is named; for example: kill rank=2 at=step:120");
  }
  Fault fault;
  PHX_ASSIGN_OR_RETURN(fault.action, ParseAction(words[0]));
  std::optional<int> rank;
  std::optional<int64_t> step;
  std::optional<int> code;
  for (size_t i = 1; i < words.size(); ++i) {
    absl::string_view value = words[i];
    if (absl::ConsumePrefix(&value, "rank=")) {
      PHX_RETURN_IF_ERROR(ParseNumber(words[i], value, &rank));
    } else if (absl::ConsumePrefix(&value, "at=step:")) {
      PHX_RETURN_IF_ERROR(ParseNumber(words[i], value, &step));
    } else if (fault.action == Action::kExit && absl::ConsumePrefix(&value, "code=")) {
      PHX_RETURN_IF_ERROR(ParseNumber(words[i], value, &code));
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown word '", words[i], "'; known are rank=N, at=step:N and, for exit, ", "code=N"));
    }
  }
  if (!rank.has_value()) return absl::InvalidArgumentError("it names no rank; add rank=N");
  if (!step.has_value()) return absl::InvalidArgumentError("it says not when; add at=step:N");
  if (code.value_or(1) > kMaxExitCode) {
    return absl::InvalidArgumentError(absl::StrCat("code=", *code, " is over ", kMaxExitCode));
  }
  fault.rank = *rank;
  fault.step = *step;
  fault.code = code.value_or(fault.code);
  return fault;
}

absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text) {
  std::vector<Fault> faults;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = line.substr(0, line.find('#'));
    for (const absl::string_view part : absl::StrSplit(line, ';', absl::SkipWhitespace())) {
      const absl::StatusOr<Fault> fault = ParseFault(part);
      if (!fault.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the fault '", part, "': ", fault.status().message()));
      }
      faults.push_back(*fault);
    }
  }
  return faults;
}

std::string ToText(const Fault& fault) {
  return absl::StrCat(NameOf(fault.action), " rank=", fault.rank, " at=step:", fault.step,
                      fault.action == Action::kExit ? absl::StrCat(" code=", fault.code) : "");
}

}  // namespace phalanx::faults
