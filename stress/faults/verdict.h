// Whether a job came to its end as it must, whatever it suffered. Pure.
#ifndef PHALANX_FAULT_STRESS_VERDICT_H_
#define PHALANX_FAULT_STRESS_VERDICT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "history.h"

namespace phalanx::stress {

struct Outcome {
  bool hung = false;  // it was killed at its deadline
  int exit_code = 0;
  std::string how;  // it ended: "exited with code 3"
  std::string output;
  JobHistory history;
  std::vector<std::string> left;  // processes, and shared memory with a name
};

struct Verdict {
  bool hung = false;
  bool wrong = false;  // the exit code or a digest
  bool lost = false;   // a committed checkpoint
  bool left = false;   // something
  std::vector<std::string> why;

  bool good() const { return why.empty(); }
};

// The words that follow "weights " in the output, one a rank, sorted.
std::vector<std::string> DigestsIn(absl::string_view output);

// `expected`: the digests of an undisturbed run.
Verdict Judge(const Outcome& outcome, const std::vector<std::string>& expected);

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_VERDICT_H_
