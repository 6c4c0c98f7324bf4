#include "base/logger.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace phalanx {
namespace {

const char* NameOf(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::kInfo:
      return "info";
    case LogSeverity::kWarning:
      return "warning";
    case LogSeverity::kError:
      return "error";
  }
  return "?";
}

}  // namespace

Logger Logger::ToStderr(std::string label, LogSeverity least) {
  return Logger([label = std::move(label), least](LogSeverity severity, const std::string& line) {
    if (severity < least) return;
    const std::string text =
        absl::StrCat("phalanx: ", label.empty() ? "" : absl::StrCat("[", label, "] "),
                     NameOf(severity), ": ", line, "\n");
    // One write, so that lines of several processes on one terminal don't mix. Nobody to tell if it
    // fails.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  });
}

}  // namespace phalanx
