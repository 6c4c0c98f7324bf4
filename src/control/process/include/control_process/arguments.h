// The arguments of the commands that we start ourselves.
#ifndef PHALANX_CONTROL_PROCESS_ARGUMENTS_H_
#define PHALANX_CONTROL_PROCESS_ARGUMENTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace phalanx::control {

class Arguments {
 public:
  // `valued`: options followed by a value; `plain`: options alone. INVALID_ARGUMENT names what
  // isn't known, comes twice or lacks its value.
  static absl::StatusOr<Arguments> Parse(const std::vector<std::string>& arguments,
                                         const std::set<std::string>& valued,
                                         const std::set<std::string>& plain);

  bool Has(const std::string& option) const { return values_.count(option) > 0; }
  // INVALID_ARGUMENT when the option is missing.
  absl::StatusOr<std::string> Text(const std::string& option) const;
  // `otherwise` when the option is missing; INVALID_ARGUMENT when it is no number from 0 up.
  absl::StatusOr<int> Number(const std::string& option, int otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_PROCESS_ARGUMENTS_H_
