#include "control_protocol/job.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {

absl::Status ValidateJobId(absl::string_view job) {
  constexpr size_t kMaxJobIdBytes = 64;
  if (job.empty() || job.size() > kMaxJobIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job id has 1 to ", kMaxJobIdBytes, " characters, not ", job.size()));
  }
  for (const char c : job) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        absl::string_view("._-:[]").find(c) == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          "a job id holds letters, digits and the characters ._-:[] only");
    }
  }
  return absl::OkStatus();
}

}  // namespace phalanx::control
