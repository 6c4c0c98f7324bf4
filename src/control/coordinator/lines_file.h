// A file to which a job appends line by line: one JSON object a line.
#ifndef PHALANX_CONTROL_COORDINATOR_LINES_FILE_H_
#define PHALANX_CONTROL_COORDINATOR_LINES_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "control_process/fd.h"

namespace phalanx::control {

class LinesFile {
 public:
  // `what` it holds, for messages: "reports".
  explicit LinesFile(std::string what) : what_(std::move(what)) {}

  // Appends to the file at `path`, which is created for its user alone; empty: keeps nothing.
  absl::Status Open(const std::string& path);
  bool is_open() const { return file_.valid(); }
  // The line, and its end, are written at once, so that it is whole whoever else writes and
  // whatever dies.
  absl::Status Append(std::string line) const;

 private:
  const std::string what_;
  std::string path_;
  Fd file_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_LINES_FILE_H_
