// What a worker finds in its environment.
#ifndef PHALANX_CONTROL_SUPERVISOR_WORKER_ENVIRONMENT_H_
#define PHALANX_CONTROL_SUPERVISOR_WORKER_ENVIRONMENT_H_

#include <map>
#include <string>
#include <vector>

namespace phalanx::control {

struct WorkerPlace {
  int rank = 0;  // negative: none, a spare
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string agent;  // the agent's Unix socket; empty: none runs
};

// PHALANX_RANK and its like (PHALANX_SPARE instead of a rank), and the same under torchrun's names
// (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), which frameworks look for.
std::map<std::string, std::string> PlaceVariables(const WorkerPlace& place);

// `base` (NAME=VALUE each) with `changes` put in the place of, or after, what is there.
std::vector<std::string> ChangeEnvironment(const std::vector<std::string>& base,
                                           const std::map<std::string, std::string>& changes);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_SUPERVISOR_WORKER_ENVIRONMENT_H_
