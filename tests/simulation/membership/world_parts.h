// The processes of a World.
#ifndef PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_PARTS_H_
#define PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_PARTS_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "world.h"

namespace phalanx::membership::simulation {

inline constexpr int64_t kMs = 1'000'000;

struct Process {
  bool frozen = false;
  std::deque<std::function<void()>> held;  // what happened to it meanwhile
};

struct World::Node : Process {
  std::optional<VoterState> disk;
  std::unique_ptr<Voter> voter;  // null while it is down
  uint64_t boot = 0;             // what an earlier boot began has no effect on this one
  std::deque<Persist> writing;
  int64_t disk_free_ns = 0;
};

struct World::Client : Process {
  std::unique_ptr<Proposer> proposer;
  ProposerId id;
  uint64_t changes = 0;
  int left = 0;  // requests to come
  std::optional<History::Call> call;
  int64_t deadline_ns = 0;  // of the call
  int64_t thawed_ns = 0;
  int64_t wake_ns = -1;  // the newest that is scheduled
  std::optional<Outcome> last;
};

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_PARTS_H_
