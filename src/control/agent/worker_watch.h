// Which of a node's workers are frozen.
#ifndef PHALANX_CONTROL_AGENT_WORKER_WATCH_H_
#define PHALANX_CONTROL_AGENT_WORKER_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "control_process/process_state.h"
#include "membership/suspicion.h"

namespace phalanx::control {

// Slow is never dead: a worker is frozen only if it has said nothing for `suspect_after` and the
// kernel says that it is stopped, and has said so for half of that time. One that runs, waits for a
// processor or is held by a debugger isn't, however long it is silent.
//
// A worker beats while it is in a view: its control thread sends a Heartbeat each 100 ms. Until the
// first one, and after StopsBeating(), it is enough that it isn't stopped.
//
// On the agent's thread only. Takes the clock and the kernel's word from the caller.
class WorkerWatch {
 public:
  using TimePoint = Clock::time_point;
  static constexpr Clock::duration kTickInterval = std::chrono::milliseconds(100);

  struct Silent {  // told when it is found, and again each second
    uint64_t worker = 0;
    std::string how;
  };
  struct Awake {  // told once of whoever was told of as silent
    uint64_t worker = 0;
    Clock::duration silent_for{};
  };
  struct Findings {
    std::vector<Silent> silent;
    std::vector<Awake> awake;
    std::vector<uint64_t> starved;  // not frozen, and silent for very long; once
  };

  explicit WorkerWatch(std::function<ProcessState(int pid)> state_of);

  void set_suspect_after(Clock::duration suspect_after);

  // No-op for one that is watched.
  void Watch(uint64_t worker, int pid, TimePoint now);
  void Forget(uint64_t worker);
  void StopsBeating(uint64_t worker);
  // It has sent a Heartbeat.
  std::optional<Awake> Hear(uint64_t worker, TimePoint now);
  Findings Tick(TimePoint now);

  static constexpr Clock::duration kStarvedAfter = std::chrono::seconds(10);

 private:
  struct Worker {
    int pid = 0;
    bool beats = false;
    bool told_starved = false;
    std::optional<TimePoint> stopped_since;  // as far as we saw
    std::optional<TimePoint> told_at;        // as silent
  };

  std::optional<Awake> HearFrom(uint64_t id, Worker& worker, TimePoint now);
  void Look(uint64_t id, Worker& worker, TimePoint now, Findings* findings);

  const std::function<ProcessState(int pid)> state_of_;
  Clock::duration suspect_after_;
  membership::Suspicion suspicion_;
  std::map<uint64_t, Worker> workers_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_WORKER_WATCH_H_
