// `phalanx agent`: the agent of a node where no launcher runs. Started by the first rank on a
// machine (control_bootstrap), not by people.
#ifndef PHALANX_CONTROL_AGENT_COMMAND_H_
#define PHALANX_CONTROL_AGENT_COMMAND_H_

#include <string>
#include <vector>

namespace phalanx::control {

// `arguments` without the words "phalanx agent":
//   --job ID --coordinator HOST:PORT --key-fd N [--socket NAME] [--node-name NAME] [--cores N]
//   [--ready-fd N] [--connect-timeout-ms N] [--detach]
// Runs until the node's part in the job is over. Returns the process's exit status: 0 also when
// another agent of the job was first. --key-fd gives the job's secret until end of file; it is
// never in the arguments or the environment. --ready-fd is closed once the socket listens or never
// will. --detach goes on in a child of its own session, so that the caller reaps us at once.
int AgentCommand(const std::vector<std::string>& arguments);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_COMMAND_H_
