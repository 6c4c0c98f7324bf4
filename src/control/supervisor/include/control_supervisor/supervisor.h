// One node's part of a job, from the start of its workers to the last of them: passes signals on,
// ends the job when a worker fails, leaves no process behind.
#ifndef PHALANX_CONTROL_SUPERVISOR_SUPERVISOR_H_
#define PHALANX_CONTROL_SUPERVISOR_SUPERVISOR_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "asio/io_context.hpp"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_supervisor/keeper.h"
#include "control_supervisor/process_end.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

struct SupervisedWorker {
  int rank = 0;       // unique here; of a spare, a number beyond the ranks
  std::string label;  // goes before each line of its output: "[2] "; empty: none
  SpawnRequest request;
  std::string input;   // see WorkerGroup::Start
  bool waits = false;  // for another one's place; until OnNeeded()
};

struct SupervisorOptions {
  std::vector<SupervisedWorker> workers;
  // See Ending.
  Clock::duration grace = std::chrono::seconds(5);
  Clock::duration hearing = Clock::duration::zero();
  int lost_exit_code = -1;
  bool replaces = false;
  bool stays = false;  // while Ending::awaits_others(), even if no worker is left
  Logger logger;
  Keeper* keeper = nullptr;    // borrowed; may be null
  std::set<pid_t> bystanders;  // children of this process that are not to be touched
  int output_fd = 1;
  int error_fd = 2;
};

// Called from the loop's thread.
class SupervisorEvents {
 public:
  virtual ~SupervisorEvents() = default;
  virtual void OnWorkerEnded(int rank, pid_t pid, int wait_status) = 0;
  // The first failure, on which the job is being ended (not on one that a signal to us caused).
  // `others` workers still run. Comes after that worker's OnWorkerEnded.
  virtual void OnFirstFailure(int rank, pid_t pid, const ProcessEnd& end, int others) = 0;
  // Every worker has ended, their output is out and nothing of theirs runs. Exactly once, the last
  // event; the loop has nothing of ours left to do. Don't destroy the supervisor from here.
  virtual void OnEnded(int exit_code) = 0;
};

// Single-threaded: all calls from the thread that runs `loop`, which must be the main thread (see
// SpawnChild). At most one per process at a time, since signals and orphans belong to the process.
// Ignores SIGPIPE in this process from Start on.
class Supervisor {
 public:
  // `loop` and `events` outlive the supervisor.
  static std::unique_ptr<Supervisor> Create(asio::io_context& loop, SupervisorOptions options,
                                            SupervisorEvents* events);
  // Kills and reaps what still runs.
  virtual ~Supervisor() = default;

  // Begins to handle signals and starts the workers. On an error (SpawnChild's) the workers that
  // ran have been killed and no event comes.
  virtual absl::Status Start() = 0;

  // One worker more, with a number of its own. Nothing happens once the job is ending. Errors:
  // SpawnChild's; the job goes on.
  virtual absl::Status Add(const SupervisedWorker& worker) = 0;

  // As if `signal` had been sent to this process, but that it doesn't stop with its workers.
  virtual void HandleSignal(int signal) = 0;

  // The workers have been told that the job is lost.
  virtual void OnLost() = 0;
  virtual void OnNotReplaced() = 0;
  virtual void OnFailuresSettled() = 0;
  virtual void OnJobEnded() = 0;
  // That worker has a place in the job from now on.
  virtual void OnNeeded(pid_t pid) = 0;
  // The job needs that worker no more: its end means nothing, and if only such workers are left
  // they are killed. Nothing happens if it has ended.
  virtual void OnDispensable(int rank) = 0;
  // A worker failed on another node; ours may have been told, or not.
  virtual void OnFailureElsewhere() = 0;
  // Writes `line` to the standard input of every worker that has a pipe there.
  virtual void Tell(const std::string& line) = 0;
  // Whoever started us is gone: kills all workers.
  virtual void OnAbandoned() = 0;

  // One more of SupervisorOptions::bystanders; before anything else runs on the loop.
  virtual void AddBystander(pid_t pid) = 0;

  // See Ending.
  virtual bool ending() const = 0;
  virtual bool lost_elsewhere() const = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_SUPERVISOR_H_
