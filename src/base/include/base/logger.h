// Where a room's log lines go. An object, not a global: a session and an agent have one each.
#ifndef PHALANX_BASE_LOGGER_H_
#define PHALANX_BASE_LOGGER_H_

#include <functional>
#include <string>
#include <utility>

namespace phalanx {

enum class LogSeverity { kInfo, kWarning, kError };

// Thread-safe if the sink is. Lines carry no newline, no time and no severity: the sink adds them.
class Logger {
 public:
  using Sink = std::function<void(LogSeverity, const std::string& line)>;

  // Drops everything.
  Logger() = default;
  explicit Logger(Sink sink) : sink_(std::move(sink)) {}

  // Writes `phalanx: [label] warning: line` to standard error in one write; drops lines below
  // `least`. `label` may be empty.
  static Logger ToStderr(std::string label, LogSeverity least);

  void Info(const std::string& line) const { Log(LogSeverity::kInfo, line); }
  void Warning(const std::string& line) const { Log(LogSeverity::kWarning, line); }
  void Error(const std::string& line) const { Log(LogSeverity::kError, line); }

 private:
  void Log(LogSeverity severity, const std::string& line) const {
    if (sink_) sink_(severity, line);
  }

  Sink sink_;
};

}  // namespace phalanx

#endif  // PHALANX_BASE_LOGGER_H_
