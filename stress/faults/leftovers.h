// What a job has left behind.
#ifndef PHALANX_FAULT_STRESS_LEFTOVERS_H_
#define PHALANX_FAULT_STRESS_LEFTOVERS_H_

#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace phalanx::stress {

// Made before the job starts.
class Leftovers {
 public:
  // `mark`: NAME=VALUE, which stands in the environment of all processes of the job and of no
  // others.
  explicit Leftovers(std::string mark);

  // Processes that haven't ended by `deadline` (the job itself has), and names in /dev/shm that are
  // new, our user's and in no process's memory. Kills those processes.
  std::vector<std::string> Find(Deadline deadline) const;

 private:
  const std::string mark_;
  const std::set<std::string> shared_before_;
};

}  // namespace phalanx::stress

#endif  // PHALANX_FAULT_STRESS_LEFTOVERS_H_
