#include "faults/fault.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "duration.h"
#include "words.h"

namespace phalanx::faults {
namespace {

constexpr int kMaxExitCode = 255;
constexpr char kWhenShapes[] = "at=step:N, at=op:N, at=time:DURATION or at=point:NAME";

// KEY=VALUE, or a KEY alone.
struct Word {
  explicit Word(absl::string_view whole) : text(whole) {
    const size_t equals = whole.find('=');
    key = whole.substr(0, equals);
    if (equals != absl::string_view::npos) value = whole.substr(equals + 1);
  }

  absl::string_view text;
  absl::string_view key;
  absl::string_view value;
};

absl::Status Wrong(const Word& word, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", word.text, "': ", why));
}

template <typename Number>
bool IsCount(absl::string_view digits, Number* to) {
  return absl::SimpleAtoi(digits, to) && *to >= 0;
}

// All that the action takes, for messages.
std::string WordsOf(const ActionWord& action) {
  return absl::StrCat(action.name, " takes ", TargetsOf(action), ", at=WHEN",
                      action.lasts ? ", for=DURATION" : "", *action.key != '\0' ? ", " : "",
                      action.key, *action.key != '\0' ? "=VALUE" : "");
}

absl::Status ParseTarget(const Word& word, const TargetWord& kind, Target* to) {
  to->kind = kind.value;
  if (kind.value == Target::Kind::kCoordinator) {
    return word.text == word.key ? absl::OkStatus() : Wrong(word, "there is only one coordinator");
  }
  if (kind.value != Target::Kind::kLink) {
    return IsCount(word.value, &to->number) ? absl::OkStatus() : Wrong(word, "no number from 0 on");
  }
  to->one_way = word.value.find('>') != absl::string_view::npos;
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(word.value, absl::MaxSplits(to->one_way ? '>' : '-', 1));
  if (!IsCount(ends.first, &to->number) || !IsCount(ends.second, &to->other)) {
    return Wrong(word, "no two nodes as in link=0-1, or link=0>1 for one direction");
  }
  return to->number != to->other ? absl::OkStatus() : Wrong(word, "a link has two ends");
}

absl::Status ParseWhen(const Word& word, When* to) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word.value, absl::MaxSplits(':', 1));
  const WhenWord* const kind = FindWhen(parts.first);
  if (kind == nullptr) return Wrong(word, absl::StrCat("no moment; known are ", kWhenShapes));
  to->kind = kind->value;
  switch (kind->value) {
    case When::Kind::kStep:
    case When::Kind::kOp:
      return IsCount(parts.second, &to->count) ? absl::OkStatus()
                                               : Wrong(word, "no number from 0 on");
    case When::Kind::kTime: {
      const absl::StatusOr<int64_t> time_ns = ParseDuration(parts.second);
      if (!time_ns.ok()) return Wrong(word, time_ns.status().message());
      to->time_ns = *time_ns;
      return absl::OkStatus();
    }
    case When::Kind::kPoint: {
      const PointWord* const point = FindPoint(parts.second);
      if (point == nullptr) return Wrong(word, absl::StrCat("no point; known are ", AllPoints()));
      to->point = point->value;
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status ParseFor(const Word& word, Fault* fault) {
  const absl::StatusOr<int64_t> for_ns = ParseDuration(word.value);
  if (!for_ns.ok()) return Wrong(word, for_ns.status().message());
  if (*for_ns == 0) return Wrong(word, "that is no time at all; leave it out for good");
  fault->for_ns = *for_ns;
  return absl::OkStatus();
}

// The value that an action has of its own.
absl::Status ParseOwn(const Word& word, Fault* fault) {
  if (word.key == "code") {
    const bool good = IsCount(word.value, &fault->code) && fault->code <= kMaxExitCode;
    return good ? absl::OkStatus()
                : Wrong(word, absl::StrCat("no exit code from 0 to ", kMaxExitCode));
  }
  if (word.key == "copy") {
    const bool good = IsCount(word.value, &fault->copy);
    return good ? absl::OkStatus() : Wrong(word, "no number from 0 on");
  }
  if (word.key == "factor") {
    const bool good = absl::SimpleAtod(word.value, &fault->factor) &&
                      std::isfinite(fault->factor) && fault->factor > 1;
    return good ? absl::OkStatus() : Wrong(word, "no number over 1");
  }
  const bool good =
      absl::SimpleAtod(word.value, &fault->fraction) && fault->fraction > 0 && fault->fraction <= 1;
  return good ? absl::OkStatus() : Wrong(word, "no number over 0 and up to 1");
}

absl::Status ParseWord(const ActionWord& action, const Word& word,
                       std::set<absl::string_view>* said, Fault* fault) {
  const TargetWord* const target = FindTarget(word.key);
  const absl::string_view what = target == nullptr ? word.key : "target";
  const bool is_own = *action.key != '\0' && word.key == action.key;
  const bool known = target != nullptr
                         ? Fits(action, target->value)
                         : word.key == "at" || is_own || (word.key == "for" && action.lasts);
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown word '", word.text, "'; ", WordsOf(action)));
  }
  if (!said->insert(what).second) return Wrong(word, absl::StrCat("a second ", what));
  if (target != nullptr) return ParseTarget(word, *target, &fault->target);
  if (is_own) return ParseOwn(word, fault);
  return word.key == "at" ? ParseWhen(word, &fault->when) : ParseFor(word, fault);
}

// That nothing is missing and all goes together.
absl::Status CheckWhole(const ActionWord& action, const std::set<absl::string_view>& said,
                        const Fault& fault) {
  if (said.count("target") == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("it names no target; add one of ", TargetsOf(action)));
  }
  if (said.count("at") == 0) {
    return absl::InvalidArgumentError(absl::StrCat("it says not when; add ", kWhenShapes));
  }
  // An exit has a usual code, and the first copy is the usual one; nothing else has a measure.
  const bool is_usual = action.value == Action::kExit || action.value == Action::kFlip;
  if (*action.key != '\0' && !is_usual && said.count(action.key) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(action.name, " needs a ", action.key, "; add ", action.key, "=X"));
  }
  const bool has_steps = fault.target.kind == Target::Kind::kRank || IsOfNetwork(fault);
  const bool has_ops = fault.target.kind == Target::Kind::kRank;
  const bool counts = (fault.when.kind != When::Kind::kStep || has_steps) &&
                      (fault.when.kind != When::Kind::kOp || has_ops);
  if (counts) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "only ranks count steps and operations; ", action.name, " ", WordOf(fault.target.kind).shape,
      " takes ", has_steps ? "at=step:N (of rank 0), " : "",
      "at=time:DURATION or at=point:NAME, not at=", WordOf(fault.when.kind).name, ":N"));
}

// The shortest that reads back as the same.
std::string NumberText(double number) {
  char text[32];
  return {text, std::to_chars(std::begin(text), std::end(text), number).ptr};
}

std::string TargetText(const Target& target) {
  const char* const name = WordOf(target.kind).name;
  if (target.kind == Target::Kind::kCoordinator) return name;
  const std::string first = absl::StrCat(name, "=", target.number);
  if (target.kind != Target::Kind::kLink) return first;
  return absl::StrCat(first, target.one_way ? ">" : "-", target.other);
}

std::string WhenText(const When& when) {
  const std::string name = absl::StrCat(WordOf(when.kind).name, ":");
  switch (when.kind) {
    case When::Kind::kStep:
    case When::Kind::kOp:
      return absl::StrCat(name, when.count);
    case When::Kind::kTime:
      return name + DurationText(when.time_ns);
    case When::Kind::kPoint:
      return name + WordOf(when.point).name;
  }
  return name;
}

}  // namespace

bool IsOfNetwork(const Fault& fault) {
  return fault.action == Action::kCut || fault.action == Action::kSlow ||
         fault.action == Action::kDrop;
}

absl::StatusOr<Fault> ParseFault(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) {
    return absl::InvalidArgumentError("no fault is named; for example: kill rank=2 at=step:120");
  }
  const ActionWord* const action = FindAction(words[0]);
  if (action == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown action '", words[0], "'; known are ", AllActions()));
  }
  Fault fault;
  fault.action = action->value;
  std::set<absl::string_view> said;
  for (size_t i = 1; i < words.size(); ++i) {
    PHX_RETURN_IF_ERROR(ParseWord(*action, Word(words[i]), &said, &fault));
  }
  PHX_RETURN_IF_ERROR(CheckWhole(*action, said, fault));
  return fault;
}

absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text) {
  std::vector<Fault> faults;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::string_view line = lines[i].substr(0, lines[i].find('#'));
    for (const absl::string_view part : absl::StrSplit(line, ';', absl::SkipWhitespace())) {
      const absl::StatusOr<Fault> fault = ParseFault(part);
      if (!fault.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(lines.size() > 1 ? absl::StrCat("line ", i + 1, ": ") : "", "the fault '",
                         absl::StripAsciiWhitespace(part), "': ", fault.status().message()));
      }
      faults.push_back(*fault);
    }
  }
  return faults;
}

std::string ToText(const Fault& fault) {
  std::string text = absl::StrCat(WordOf(fault.action).name, " ", TargetText(fault.target),
                                  " at=", WhenText(fault.when));
  if (fault.for_ns > 0) absl::StrAppend(&text, " for=", DurationText(fault.for_ns));
  if (fault.action == Action::kExit) absl::StrAppend(&text, " code=", fault.code);
  if (fault.action == Action::kFlip && fault.copy > 0) absl::StrAppend(&text, " copy=", fault.copy);
  if (fault.action == Action::kSlow) absl::StrAppend(&text, " factor=", NumberText(fault.factor));
  if (fault.action == Action::kDrop) {
    absl::StrAppend(&text, " fraction=", NumberText(fault.fraction));
  }
  return text;
}

}  // namespace phalanx::faults
