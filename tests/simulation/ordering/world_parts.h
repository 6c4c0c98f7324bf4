// What a simulated job consists of.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_WORLD_PARTS_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_WORLD_PARTS_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "world.h"

namespace phalanx::ordering::simulation {

// One direction between two parties: in order, numbered.
struct World::Link {
  int64_t last_ns = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
};

struct World::Host {
  size_t at = 0;
  bool ended = false;
  bool waits = false;
  bool device_wide = false;
  std::vector<uint64_t> waits_for;
  std::vector<std::vector<uint64_t>> issued;  // ids, by instruction
};

struct World::Member {
  struct Op {
    OpName name;
    Signature signature;
    std::string label;
  };

  Member(const QueueSettings& settings, bool hoards)
      : queue(settings), device(settings.slots, hoards) {}

  bool IsFinished() const {
    return device.Incomplete().empty() &&
           std::all_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.ended; });
  }

  LaunchQueue queue;
  Device device;
  std::vector<Host> hosts;
  uint64_t last_id = 0;
  std::map<Lane, uint64_t> next;
  std::map<uint64_t, Op> ops;  // all, by id
  std::map<OpName, uint64_t> ids;
  std::map<uint64_t, int64_t> positions;  // of those that took the certified path
  std::set<OpName> completed;
  std::set<OpName> aborted;
  std::vector<OpName> ticketed;  // launched by ticket, in order
  Link up;
  Link down;
};

struct World::Node {
  Node(const NodeSettings& settings, const Roster* roster) : aggregator(settings, roster) {}

  NodeAggregator aggregator;
  std::map<uint64_t, Link> up;  // by epoch: each sequencer has its own connections
  std::map<uint64_t, Link> down;
};

// For traces.
std::string TextOf(const Report& report);
std::string TextOf(const Order& order);

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_WORLD_PARTS_H_
