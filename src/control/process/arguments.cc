#include "control_process/arguments.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {

absl::StatusOr<Arguments> Arguments::Parse(const std::vector<std::string>& arguments,
                                           const std::set<std::string>& valued,
                                           const std::set<std::string>& plain) {
  Arguments parsed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    std::string value;
    if (valued.count(option) > 0) {
      if (++i == arguments.size()) {
        return absl::InvalidArgumentError(absl::StrCat(option, " needs a value"));
      }
      value = arguments[i];
    } else if (plain.count(option) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument \"", option, "\""));
    }
    if (!parsed.values_.emplace(option, std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat(option, " comes twice"));
    }
  }
  return parsed;
}

absl::StatusOr<std::string> Arguments::Text(const std::string& option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) {
    return absl::InvalidArgumentError(absl::StrCat(option, " is missing"));
  }
  return found->second;
}

absl::StatusOr<int> Arguments::Number(const std::string& option, int otherwise) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return otherwise;
  int number = 0;
  if (!absl::SimpleAtoi(found->second, &number) || number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " wants a number, not \"", found->second, "\""));
  }
  return number;
}

}  // namespace phalanx::control
