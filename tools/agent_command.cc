#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "command_line.h"
#include "control_agent/command.h"
#include "control_launch/assignment_text.h"
#include "control_launch/node_job.h"

namespace phalanx::tools {
namespace {

constexpr char kFromLauncher[] = "--from-launcher";

constexpr char kHelp[] =
    R"(The agent of a node. Not for people: started by `phalanx run --nodes` or by the first process of a
job on a machine where no launcher runs.

With --from-launcher it reads from standard input what to run (and the job's key), starts the
workers of this node, and then obeys lines `signal N` until the input ends.

Example: what `phalanx run --nodes node1:2 -- ./train` runs on node1
  phalanx agent --from-launcher
)";

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "phalanx: error: agent: %s\n", std::string(status.message()).c_str());
  return kExitFailure;
}

}  // namespace

int AgentCommand(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--help"}) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (arguments != std::vector<std::string>{kFromLauncher}) {
    return control::AgentCommand(arguments);
  }
  const absl::StatusOr<std::string> text = control::ReadAssignment(STDIN_FILENO);
  if (!text.ok()) return Fail(text.status());
  const absl::StatusOr<control::NodeAssignment> assignment = control::ParseAssignment(*text);
  if (!assignment.ok()) return Fail(assignment.status());
  control::NodeSurroundings surroundings;
  surroundings.orders_fd = STDIN_FILENO;
  return control::RunNode(*assignment, surroundings);
}

}  // namespace phalanx::tools
