// One node's part of a job, run in this process.
#ifndef PHALANX_CONTROL_LAUNCH_NODE_JOB_H_
#define PHALANX_CONTROL_LAUNCH_NODE_JOB_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

struct NodeAssignment {
  int world_size = 1;
  int first_rank = 0;  // this node's ranks are consecutive from here
  int local_world_size = 1;
  std::vector<std::string> program;              // and its arguments
  std::map<std::string, std::string> variables;  // added to our environment
  std::string folder;                            // where workers start; empty: where we are
  bool label = true;
  Clock::duration grace = std::chrono::seconds(5);
  // What this node's first worker reads; the others read nothing.
  ChildInput first_input = ChildInput::kNothing;
};

// Runs the workers on the calling thread, which must be the main and only one, until nothing of
// them is left. Returns the process's exit code; says on standard error what went wrong.
int RunNode(const NodeAssignment& assignment);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_NODE_JOB_H_
