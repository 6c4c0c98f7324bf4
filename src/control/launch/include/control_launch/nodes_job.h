// A job over several nodes: one agent on each, started here or through a remote shell.
#ifndef PHALANX_CONTROL_LAUNCH_NODES_JOB_H_
#define PHALANX_CONTROL_LAUNCH_NODES_JOB_H_

#include <optional>
#include <string>
#include <vector>

#include "control_emulation/cluster_shape.h"
#include "control_launch/host_list.h"
#include "control_launch/node_job.h"

namespace phalanx::control {

struct NodesOptions {
  std::vector<HostSlots> hosts;  // consecutive ranks, in this order
  // Starts a command on another machine: RSH… HOST COMMAND. Its standard input reaches the command.
  std::vector<std::string> remote_shell;
  std::string remote_command;  // path of `phalanx` there; empty: as here
  // Where the coordinator listens and all nodes reach it; empty: loopback when all nodes are this
  // machine, else the address from which this machine reaches the first of the others.
  std::string address;
  JobFiles files;
  // The hosts are this machine, each in a network of its own of this kind, with as many ranks as it
  // says there. What went over each link is said in the end.
  std::optional<ClusterShape> emulated;
  bool has_link_faults = false;  // among those that the job is to suffer; see faults/fault.h
};

// Runs the whole job on the calling thread, which must be the main and only one. What concerns the
// job in `common` (program, variables, folder, label, grace) holds for all nodes; the rest is
// filled in. Returns the process's exit code; says on standard error what went wrong.
int RunNodesJob(const NodesOptions& options, const NodeAssignment& common);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_NODES_JOB_H_
