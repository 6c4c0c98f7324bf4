#include "checkpoint/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"

namespace phalanx::checkpoint {
namespace {

struct Machine {
  int64_t id = 0;
  int64_t rack = 0;
  int64_t load = 0;                  // copies held for ranks of other machines
  std::map<AgentId, int64_t> loads;  // the same, by agent
};

class Placer {
 public:
  Placer(const ClusterView& view, int replicas) : view_(view) {
    std::map<int64_t, Machine> machines;
    for (const AgentPlace& place : view.agents) {
      Machine& machine = machines[place.machine];
      machine.id = place.machine;
      machine.rack = place.rack;
      machine.loads[place.agent] = 0;
    }
    for (auto& [id, machine] : machines) machines_.push_back(std::move(machine));
    for (size_t i = 0; i < machines_.size(); ++i) {
      for (const auto& [agent, load] : machines_[i].loads) machine_of_[agent] = i;
    }
    placement_.wanted = replicas;
    placement_.effective = std::min(replicas, static_cast<int>(machines_.size()));
    const size_t copies = view.owners.size() * static_cast<size_t>(placement_.effective - 1);
    // Every choice is among at least this many machines, so some of them hold no more than this.
    const size_t choices = machines_.size() - static_cast<size_t>(placement_.effective) + 1;
    even_share_ = static_cast<int64_t>((copies + choices - 1) / choices);
  }

  Placement Run() {
    for (const AgentId owner : view_.owners) {
      PHX_CHECK_MSG(machine_of_.count(owner) > 0, "a rank's agent isn't in the view");
      placement_.holders.push_back({owner});
    }
    // Second copies of all ranks before any third one: the earlier copies matter most.
    const std::vector<size_t> order = TurnOrder();
    for (int copy = 1; copy < placement_.effective; ++copy) {
      for (const size_t rank : order) AddHolder(&placement_.holders[rank]);
    }
    return placement_;
  }

 private:
  // The first rank of every machine, then the second of every one: a machine that chose for all of
  // its ranks at once would leave the last machine with what nobody else wants.
  std::vector<size_t> TurnOrder() {
    std::map<size_t, size_t> ranks_of_machine;
    std::vector<std::tuple<size_t, size_t, size_t>> turns;
    for (size_t rank = 0; rank < view_.owners.size(); ++rank) {
      const size_t machine = machine_of_[view_.owners[rank]];
      turns.emplace_back(ranks_of_machine[machine]++, machine, rank);
    }
    std::sort(turns.begin(), turns.end());
    std::vector<size_t> order;
    order.reserve(turns.size());
    for (const auto& [turn, machine, rank] : turns) order.push_back(rank);
    return order;
  }

  void AddHolder(std::vector<AgentId>* holders) {
    std::set<size_t> used;
    std::set<int64_t> racks;
    for (const AgentId agent : *holders) {
      used.insert(machine_of_[agent]);
      racks.insert(machines_[machine_of_[agent]].rack);
    }
    const size_t home = machine_of_[holders->front()];
    size_t best = machines_.size();
    std::tuple<bool, int64_t, size_t> best_cost;
    for (size_t i = 0; i < machines_.size(); ++i) {
      if (used.count(i) > 0) continue;
      const Machine& machine = machines_[i];
      const bool worse_place =
          racks.count(machine.rack) > 0 || machine.load >= std::max<int64_t>(1, 2 * even_share_);
      // Of equally good ones the next after the owner, so that not all choose the first.
      const size_t distance = (i + machines_.size() - home) % machines_.size();
      const std::tuple<bool, int64_t, size_t> cost{worse_place, machine.load, distance};
      if (best == machines_.size() || cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    Machine& chosen = machines_[best];
    const auto agent =
        std::min_element(chosen.loads.begin(), chosen.loads.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++agent->second;
    ++chosen.load;
    holders->push_back(agent->first);
  }

  const ClusterView& view_;
  std::vector<Machine> machines_;  // by id
  std::map<AgentId, size_t> machine_of_;
  int64_t even_share_ = 0;
  Placement placement_;
};

}  // namespace

bool Placement::Holds(int rank, AgentId agent) const {
  const auto& of_rank = holders[static_cast<size_t>(rank)];
  return std::find(of_rank.begin(), of_rank.end(), agent) != of_rank.end();
}

Placement Place(const ClusterView& view, int replicas) {
  PHX_CHECK(replicas >= 1);
  return Placer(view, replicas).Run();
}

}  // namespace phalanx::checkpoint
