#include "control_protocol/loss_policy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace phalanx::control {
namespace {

constexpr std::array<std::pair<const char*, LossChoice>, 4> kWords = {
    {{"spare", LossChoice::kSpare},
     {"restart", LossChoice::kRestart},
     {"shrink", LossChoice::kShrink},
     {"fail", LossChoice::kFail}}};

const char* NameOf(LossChoice choice) { return kWords.at(static_cast<size_t>(choice)).first; }

}  // namespace

LossPolicy::LossPolicy()
    : order_{LossChoice::kSpare, LossChoice::kRestart, LossChoice::kShrink, LossChoice::kFail} {}

absl::StatusOr<LossPolicy> LossPolicy::Parse(absl::string_view text) {
  LossPolicy policy;
  policy.order_.clear();
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view word = absl::StripAsciiWhitespace(part);
    const auto* const found = std::find_if(kWords.begin(), kWords.end(),
                                           [&](const auto& known) { return word == known.first; });
    if (found == kWords.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", word.empty() ? "an empty word" : absl::StrCat("'", word, "'"),
                       "; wanted are spare, restart, shrink and fail, with commas between"));
    }
    if (policy.Has(found->second)) {
      return absl::InvalidArgumentError(absl::StrCat("has '", word, "' twice"));
    }
    if (policy.Has(LossChoice::kFail)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has '", word, "' after 'fail', where nothing is tried any more"));
    }
    policy.order_.push_back(found->second);
  }
  if (!policy.Has(LossChoice::kFail)) policy.order_.push_back(LossChoice::kFail);
  return policy;
}

std::string LossPolicy::ToText() const {
  return absl::StrJoin(order_, ",", [](std::string* out, LossChoice choice) {
    absl::StrAppend(out, NameOf(choice));
  });
}

bool LossPolicy::Has(LossChoice choice) const {
  return std::find(order_.begin(), order_.end(), choice) != order_.end();
}

LossPolicy::Steps LossPolicy::For(bool can_shrink) const {
  Steps steps;
  for (const LossChoice choice : order_) {
    if (choice == LossChoice::kSpare) {
      steps.spares = true;
    } else if (choice == LossChoice::kRestart) {
      steps.restarts = true;
      steps.restarts_first = !steps.spares;
    } else if (choice == LossChoice::kShrink && can_shrink) {
      steps.shrinks = true;
      break;
    }
  }
  return steps;
}

}  // namespace phalanx::control
