// One node's part of a job, run in this process: an agent and the workers that it watches.
#ifndef PHALANX_CONTROL_LAUNCH_NODE_JOB_H_
#define PHALANX_CONTROL_LAUNCH_NODE_JOB_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/persist_settings.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

class JobCoordinator;

// Exit code of a node whose workers were ended because of a loss on another one.
inline constexpr int kExitLostElsewhere = 120;

struct NodeAssignment {
  std::string job;
  std::string secret;    // see DeriveKey()
  Endpoint coordinator;  // where it listens
  int node = 0;
  std::string node_name;
  std::string machine;  // see AgentOptions; empty: MachineId() there

  int world_size = 1;
  int first_rank = 0;  // this node's ranks are consecutive from here
  int local_world_size = 1;
  int spares = 0;         // processes here that wait for a rank to be lost
  int restarts = 0;       // how many processes each node starts anew where others were lost
  bool replaces = false;  // a lost worker may be replaced, by a spare of any node or a new process
  std::vector<std::string> program;              // and its arguments
  std::map<std::string, std::string> variables;  // added to our environment
  std::string folder;                            // where workers start; empty: where we are
  PersistSettings persist;
  uint64_t replication_bytes_per_second = 0;  // see AgentOptions
  bool label = true;
  Clock::duration grace = std::chrono::seconds(5);
};

// Where the coordinator says what happens, and keeps what it has decided.
struct JobFiles {
  // Both are appended to, a JSON object a line.
  // About operations that wait; empty: where PHALANX_REPORT_FILE says, or nowhere.
  std::string reports;
  std::string events;  // see control_coordinator/job_event.h; empty: nowhere
  // Of its status page on 127.0.0.1; 0: a free one, which is said; nullopt: there is none.
  std::optional<uint16_t> status_port;
  // etcd://HOST:PORT[,HOST:PORT…]: the job's record is there; empty: with the launcher.
  std::string record_url;
};

struct NodeSurroundings {
  // What this node's first worker reads; the others read nothing.
  ChildInput first_input = ChildInput::kNothing;
  // A child of ours; null: it is somebody else's. Borrowed.
  JobCoordinator* coordinator = nullptr;
  // Where whoever started us says `signal N`, line by line, and by whose end we know that it is
  // gone; -1: nowhere. Borrowed; switched to non-blocking.
  int orders_fd = -1;
};

// Runs the node's part on the calling thread, which must be the main and only one, until nothing of
// it is left. Returns the process's exit code (kExitLostElsewhere only with orders_fd); says on
// standard error what went wrong.
int RunNode(const NodeAssignment& assignment, const NodeSurroundings& surroundings);

// A job of this node alone: starts the coordinator as a child, runs the node, ends the coordinator.
// Fills in what `assignment` lacks: job, secret, coordinator.
int RunLocalJob(NodeAssignment assignment, ChildInput first_input, const JobFiles& files);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_LAUNCH_NODE_JOB_H_
