// The agent: the one Phalanx process of a node. Workers of the node connect to its Unix socket; it
// relays their joining, leaving and dying to the coordinator, and views and revocations back.
//
// `phalanx run` and `phalanx agent` own one. It starts no worker and reaps none: its owner does,
// and says so through WorkerExited().
#ifndef PHALANX_CONTROL_AGENT_AGENT_H_
#define PHALANX_CONTROL_AGENT_AGENT_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_channel/job_key.h"
#include "control_protocol/endpoint.h"
#include "control_protocol/persist_settings.h"

namespace phalanx::control {

// Told on the agent's own thread, one call at a time; must not block and must not call Stop() or
// destroy the agent. They may come before Start() has returned.
class AgentEvents {
 public:
  virtual ~AgentEvents() = default;

  // The view is over although the job had not ended: a member, an agent or the coordinator was
  // lost. The workers of this node are told next. At most once, before OnJobOver().
  virtual void OnRevoked(const absl::Status& reason) = 0;

  // The job's ranks have all joined: the first view begins, or another one. `pids`: its members on
  // this node, none of which has heard of it yet.
  virtual void OnViewBegan(const std::vector<pid_t>& /*pids*/) {}

  // A member was lost, and what it takes to go on in another view is there: whoever is lost so far
  // is being replaced.
  virtual void OnRecovering() {}

  // The node was silent and nobody heard it, so the job goes on without it: the agent kills its
  // workers, and its owner has nothing more to do but to end. At most once, before OnRevoked().
  virtual void OnEvicted(const absl::Status& /*reason*/) {}

  // Nothing more is decided; workers that come from now on are refused. OK when every rank of the
  // job has left orderly; else why the job failed (the reason of the revocation, or one of
  // Client::Join's). At most once; workers may still be running.
  virtual void OnJobOver(const absl::Status& status) = 0;

  // A process of the owner's has ended that was no member of the job then: it had not joined yet,
  // or had left. Only in answer to WorkerExited().
  virtual void OnEndedOutside(pid_t /*pid*/, int /*wait_status*/) {}

  // The owner is to start one process more, which waits for a rank to be lost: the next of
  // AgentOptions::restarts.
  virtual void OnStartSpare() {}

  // Without supervision: no worker is connected, and the job is over and its members have been told
  // so, or nobody has come for `idle_timeout`. At most once.
  virtual void OnDeserted() {}
};

struct AgentOptions {
  std::string job;       // see ValidateJobId()
  JobKey key;            // proves to the coordinator that we belong to the job
  Endpoint coordinator;  // where it listens

  int node = -1;          // index of this node in the job; -1: the coordinator chooses
  std::string node_name;  // for messages: the host's name
  int cores = 1;          // processors that this node's workers may use, all together

  // Where this node's agent keeps checkpoints in files; the job's name must be a folder's then.
  PersistSettings persist;
  // At most so much of checkpoints is sent to other agents while no rank waits for it; 0: without
  // limit.
  uint64_t replication_bytes_per_second = 0;

  int spares = 0;    // processes that the owner starts to wait for a rank to be lost
  int restarts = 0;  // how many more it would start, where others were lost: OnStartSpare()

  // Equal for agents that fall together, so that they don't hold copies for each other: see
  // MachineId(). Empty: this one falls alone.
  std::string machine;

  // True when the owner starts the workers and calls WorkerExited(): a worker's closed connection
  // is then reported only after a moment (100 ms) in which the owner may say how it ended.
  bool supervised = false;
  // Name of the Unix socket in the abstract namespace, without the leading zero byte; empty: a
  // random one. EADDRINUSE is ALREADY_EXISTS.
  std::string socket_name;
  // How long to go on trying to reach a coordinator that refuses connections.
  Clock::duration connect_timeout = std::chrono::seconds(10);
  // Another coordinator comes to the same address when this one is gone, and goes on from the job's
  // record; it listens there all the time (a refused connection means that none comes).
  bool awaits_successors = false;
  // See OnDeserted().
  Clock::duration idle_timeout = std::chrono::seconds(10);

  Logger logger;
};

class Agent {
 public:
  // Binds the Unix socket, starts the agent's thread and begins to connect to the coordinator. What
  // goes wrong with the coordinator is told to joining workers and to `events`, which outlives the
  // agent.
  //   ALREADY_EXISTS    the socket name is taken: another agent of the job lives on this machine
  //   INVALID_ARGUMENT  malformed options
  static absl::StatusOr<std::unique_ptr<Agent>> Start(AgentOptions options, AgentEvents* events);
  virtual ~Agent() = default;  // Stop() at once

  // What workers find in PHALANX_AGENT.
  virtual const std::string& socket_name() const = 0;

  // A process that the owner had started has ended; `wait_status` as waitpid() gives it. Also for
  // processes that never connected. Any thread.
  virtual void WorkerExited(pid_t pid, int wait_status) = 0;

  // A process that the owner had started as a spare has ended, as WorkerExited() said before. If it
  // hadn't joined, nobody waits for it any more. `how` it ended, as "exited with code 1". Any
  // thread.
  virtual void SpareExited(pid_t pid, const std::string& how) = 0;

  // The owner has stopped its workers on purpose, or has let them go on: meanwhile nobody is taken
  // for frozen. Any thread.
  virtual void SetPaused(bool paused) = 0;

  // Sends what is still to be sent until `deadline`, closes all connections and joins the thread.
  // In a job that keeps its checkpoints in files and has ended well: once the last one is written.
  // Workers that are still connected see the agent go. Idempotent. Not from an event.
  virtual void Stop(Deadline deadline) = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_AGENT_H_
