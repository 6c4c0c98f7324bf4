// The worker processes of one node: started, labelled, signalled and reaped.
#ifndef PHALANX_CONTROL_SUPERVISOR_WORKER_GROUP_H_
#define PHALANX_CONTROL_SUPERVISOR_WORKER_GROUP_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "asio/io_context.hpp"
#include "control_supervisor/keeper.h"
#include "control_supervisor/output_sink.h"
#include "control_supervisor/process_end.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

class StreamRelay;

// Called from the loop.
class WorkerGroupEvents {
 public:
  virtual ~WorkerGroupEvents() = default;
  // Rank `rank` has ended and has been reaped; whatever else was in its process group is killed.
  // `wait_status` is waitpid()'s.
  virtual void OnWorkerEnded(int rank, pid_t pid, int wait_status) = 0;
  // A worker's output has ended; ask outputs_open().
  virtual void OnOutputEnded() = 0;
};

// Used from one thread, that of the loop and of the process's start (see SpawnChild). All that is
// given to it outlives it; destroy it only after the loop has stopped.
class WorkerGroup {
 public:
  // `keeper` may be null.
  WorkerGroup(asio::io_context& loop, OutputSink::Pair sinks, Keeper* keeper,
              WorkerGroupEvents* events);
  // Kills and reaps what still runs.
  ~WorkerGroup();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // Starts one worker; `label` goes before each of its lines. One that is started with
  // ChildInput::kPipe finds `input` in its standard input, and after it a line `signal N` in place
  // of each signal but SIGKILL: it stands for processes that no signal of ours reaches.
  // Errors: SpawnChild's.
  absl::Status Start(int rank, const std::string& label, const SpawnRequest& request,
                     const std::string& input);

  // Sends `signal` to the process group of every worker that still runs.
  void Signal(int signal);

  // Writes `line` to the standard input of every worker that has a pipe there.
  void Tell(const std::string& line);

  int alive() const { return static_cast<int>(workers_.size()); }
  // Whose rank isn't one of these.
  int AliveWithout(const std::set<int>& ranks) const;
  int outputs_open() const { return static_cast<int>(relays_.size()); }
  std::set<pid_t> pids() const;
  // Stops waiting for the ends of outputs: passes on what has come.
  void EndOutputs();

 private:
  struct Worker;

  void Relay(Fd source, const std::string& label, std::shared_ptr<OutputSink> sink);
  void AwaitEnd(int rank, Worker* worker);
  void Reap(int rank);

  asio::io_context& loop_;
  OutputSink::Pair sinks_;
  Keeper* keeper_;
  WorkerGroupEvents* events_;
  std::map<int, std::unique_ptr<Worker>> workers_;  // by rank; those not reaped
  std::set<std::shared_ptr<StreamRelay>> relays_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_WORKER_GROUP_H_
