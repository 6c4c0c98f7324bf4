#include "phalanx_launch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace phalanx::simulate {
namespace {

// Of ten milliseconds each, without anything happening: the stall deadline and two rounds of
// snapshots need a dozen.
constexpr int kIdleTicks = 100;
constexpr double kTardiness = 0.5;

ordering::Roster MakeRoster(const DeadlockConfig& config) {
  std::vector<int> nodes;
  for (int rank = 0; rank < config.ranks; ++rank) nodes.push_back(rank / config.ranks_per_node);
  ordering::Roster roster(std::move(nodes));
  for (size_t group = 0; group < config.groups.size(); ++group) {
    const std::vector<int>& ranks = config.groups[group].ranks;
    roster.Add(CommunicatorId{static_cast<uint16_t>(group)},
               ordering::Ranks(ranks.begin(), ranks.end()));
  }
  return roster;
}

// One round's programs on a cluster.
class Round {
 public:
  Round(const DeadlockConfig& config, const Layout& layout, const ordering::Roster& roster,
        uint64_t round)
      : config_(config), layout_(layout), cluster_(Settings(config, round), &roster) {
    hosts_.reserve(static_cast<size_t>(layout.ranks()));
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      hosts_.push_back({RankProgram(config, layout, round, rank), {}, false, false});
    }
  }

  PhalanxRound Run() {
    int idle_ticks = 0;
    while (idle_ticks < kIdleTicks && !IsFinished()) {
      bool moved = false;
      for (int rank = 0; rank < layout_.ranks(); ++rank) moved = Step(rank) || moved;
      moved = cluster_.Hop() || moved;
      if (moved) {
        idle_ticks = 0;
        continue;
      }
      cluster_.Tick();
      ++idle_ticks;
    }
    PhalanxRound result;
    result.explained = cluster_.aborted() > 0;
    result.hung = !result.explained && !IsFinished();
    result.completed = cluster_.completed();
    result.tickets = cluster_.sequencer().tickets();
    return result;
  }

 private:
  struct Host {
    RankProgram program;
    std::vector<uint64_t> waits_for;
    bool waits = false;
    bool ended = false;
  };

  static ClusterSettings Settings(const DeadlockConfig& config, uint64_t round) {
    ClusterSettings settings;
    settings.slots = config.slots;
    settings.tardiness = kTardiness;
    settings.seed = config.seed ^ (round << 20);
    return settings;
  }

  bool IsFinished() const {
    // An abort ends a job; what it takes with it is of no interest here.
    if (cluster_.aborted() > 0) return true;
    return finished_ == layout_.ranks() &&
           cluster_.completed() == static_cast<uint64_t>(layout_.collectives());
  }

  bool Step(int rank) {
    Host& host = hosts_[static_cast<size_t>(rank)];
    if (host.ended) return false;
    if (host.waits && !GoesOn(rank, &host)) return false;
    if (host.program.ended()) {
      host.ended = true;
      ++finished_;
      cluster_.EndProgram(rank);
      return true;
    }
    if (cluster_.MustWait(rank)) return false;
    const int next = host.program.Next();
    if (next == RankProgram::kWait) {
      host.waits_for = config_.interface == Interface::kKey ? cluster_.OnDevice(rank)
                                                            : cluster_.Incomplete(rank);
      host.waits = !host.waits_for.empty();
      if (host.waits) cluster_.BeginWait(rank, host.waits_for);
      return true;
    }
    const CommunicatorId group{static_cast<uint16_t>(layout_.GroupOf(next))};
    const ordering::Lane lane{group, ordering::Lane::Kind::kKey, static_cast<uint64_t>(next)};
    ordering::Signature signature;
    signature.kind = ordering::OpKind::kAllReduce;
    signature.count = static_cast<uint64_t>(next) + 1;  // so that a wrong pair would be noticed
    const bool in_one_queue =
        config_.model == Model::kSingleQueue && config_.interface == Interface::kStream;
    cluster_.Issue(rank, lane, signature, in_one_queue ? 0 : Cluster::kOwnStream);
    return true;
  }

  bool GoesOn(int rank, Host* host) {
    std::erase_if(host->waits_for, [&](uint64_t id) { return cluster_.IsOver(rank, id); });
    if (!host->waits_for.empty()) return false;
    host->waits = false;
    cluster_.EndWait(rank);
    return true;
  }

  const DeadlockConfig& config_;
  const Layout& layout_;
  Cluster cluster_;
  std::vector<Host> hosts_;
  int finished_ = 0;
};

}  // namespace

PhalanxLaunch::PhalanxLaunch(const DeadlockConfig& config, const Layout& layout)
    : config_(config), layout_(layout), roster_(MakeRoster(config)) {}

PhalanxRound PhalanxLaunch::Run(uint64_t round) const {
  return Round(config_, layout_, roster_, round).Run();
}

}  // namespace phalanx::simulate
