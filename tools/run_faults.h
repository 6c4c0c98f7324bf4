// The faults that `phalanx run` is told of: whether this job can suffer them.
#ifndef PHALANX_TOOLS_RUN_FAULTS_H_
#define PHALANX_TOOLS_RUN_FAULTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "faults/fault.h"

namespace phalanx::tools {

struct FaultTexts {
  std::vector<std::string> options;  // each --fault
  std::string file;                  // --fault-file; empty: none
  std::string file_text;
};

struct JobForFaults {
  int ranks = 0;  // 0: not known
  int spares = 0;
  int nodes = 0;  // 0: the job is this process's own
  bool is_emulated = false;
};

// INVALID_ARGUMENT or UNIMPLEMENTED names the option and the fault, and what would do.
absl::StatusOr<std::vector<faults::Fault>> ReadFaults(const FaultTexts& texts,
                                                      const JobForFaults& job);

// As the value of PHALANX_FAULTS.
std::string ToText(const std::vector<faults::Fault>& faults);

}  // namespace phalanx::tools

#endif  // PHALANX_TOOLS_RUN_FAULTS_H_
