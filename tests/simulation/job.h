// A whole job in one thread: every rank with a wire, links and a group of a simulated network, each
// running its operations one after the other at its own pace.
#ifndef PHALANX_TESTS_SIMULATION_JOB_H_
#define PHALANX_TESTS_SIMULATION_JOB_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "buffers.h"
#include "plan/planner.h"
#include "runner/plan_runner.h"
#include "sim/network.h"

namespace phalanx::simulation {

struct JobOptions {
  uint64_t seed = 1;
  int size = 1;
  bool shares_memory = false;
  bool oversubscribed = false;
  uint32_t copy_windows = 0;  // see sim::Options
  plan::Limits limits;
};

class Job {
 public:
  explicit Job(const JobOptions& options);
  ~Job();

  // Runs the operations to their end on all ranks and checks each. Returns what went wrong, with
  // all that replays it, or nothing.
  std::string Run(std::vector<Operation>* operations);

  sim::Network& network() { return network_; }

 private:
  struct Member;

  bool Turn(Member* member, std::vector<Operation>* operations);
  bool Start(Member* member, const Operation& operation);
  void Fail(const std::string& what);
  std::string Stuck(const std::vector<Operation>& operations) const;

  const JobOptions options_;
  std::mt19937_64 random_;
  sim::Network network_;
  std::vector<std::unique_ptr<Member>> members_;
  std::string failure_;
};

}  // namespace phalanx::simulation

#endif  // PHALANX_TESTS_SIMULATION_JOB_H_
