// A tiny child process that outlives a killed launcher just long enough to end what it started.
#ifndef PHALANX_CONTROL_SUPERVISOR_KEEPER_H_
#define PHALANX_CONTROL_SUPERVISOR_KEEPER_H_

#include <sys/types.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "control_supervisor/spawn.h"

namespace phalanx::control {

// The kernel kills a worker when its launcher is killed (SpawnChild), but not the children of a
// worker that is a shell script. The keeper knows the workers' process groups; when the launcher is
// gone, however it went, it reads the end of a pipe, kills the groups that are left, and exits.
class Keeper {
 public:
  // Forks without executing, so call it while the process has one thread.
  static absl::StatusOr<std::unique_ptr<Keeper>> Start();
  // Lets the keeper end (it kills what is still registered) and reaps it.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void Add(pid_t group);
  // Call before the group's leader is reaped: afterwards its number may be another's.
  void Remove(pid_t group);

  pid_t pid() const { return pid_; }

 private:
  Keeper(pid_t pid, Fd pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  void Tell(pid_t signed_group);

  pid_t pid_;
  Fd pipe_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_KEEPER_H_
