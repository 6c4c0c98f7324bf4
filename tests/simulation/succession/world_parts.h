// The processes of a World.
#ifndef PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_PARTS_H_
#define PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_PARTS_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "world.h"

namespace phalanx::membership::simulation {

inline constexpr int64_t kMs = 1'000'000;

inline int64_t Ns(Clock::duration duration) { return std::chrono::nanoseconds(duration).count(); }

struct World::Process {
  bool frozen = false;
  uint64_t freezes = 0;
  std::deque<std::function<void()>> held;  // what happened to it meanwhile
};

struct World::Leader : Process {
  Leader(int its_node, const StartCoordinator& start, ProposerSettings settings,
         Clock::duration lease)
      : node(its_node),
        life(start.life),
        replaces(start.replaces),
        proposer(std::move(settings)),
        answers(lease) {}

  const int node;
  const ProposerId life;
  const ProposerId replaces;
  Proposer proposer;
  VoterAnswers answers;
  bool leads = false;
  std::set<int> followers;  // nodes that have connected
  uint64_t written = 0;
  uint64_t beats = 0;
  int64_t wake_ns = -1;  // the newest that is scheduled
};

// The agent is frozen, not the machine: that answers for processes which aren't there.
struct World::Node : Process {
  bool machine_up = true;
  uint64_t boot = 0;  // of its agent; what an earlier one began has no effect on this one
  VoterState disk;
  std::unique_ptr<Voter> voter;            // null while the agent is down
  std::unique_ptr<Succession> succession;  // the same
  int64_t disk_free_ns = 0;
  int64_t wake_ns = -1;
  int64_t heard_ns = 0;  // whom it follows, or when it last tried to
  std::shared_ptr<Leader> leader;
};

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_PARTS_H_
