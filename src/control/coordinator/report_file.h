// Where a job's reports are kept: a file of one JSON object a line.
#ifndef PHALANX_CONTROL_COORDINATOR_REPORT_FILE_H_
#define PHALANX_CONTROL_COORDINATOR_REPORT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "control_process/fd.h"
#include "ordering/explanation.h"

namespace phalanx::control {

class ReportFile {
 public:
  // Appends to the file at `path`, which is created for its user alone; empty: keeps nothing.
  absl::Status Open(const std::string& path);
  // A line is written at once, so that it is whole whoever else writes and whatever dies.
  absl::Status Append(const ordering::Explanation& explanation) const;

 private:
  std::string path_;
  Fd file_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_REPORT_FILE_H_
