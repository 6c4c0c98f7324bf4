#include "checkpoint/placement.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::checkpoint {
namespace {

using testing::ElementsAre;

ClusterView Even(int64_t machines, int64_t racks, int ranks_of_machine) {
  ClusterView view;
  for (int64_t i = 0; i < machines; ++i) view.agents.push_back({i, i, i % racks});
  for (int64_t i = 0; i < machines; ++i) {
    for (int rank = 0; rank < ranks_of_machine; ++rank) view.owners.push_back(i);
  }
  return view;
}

std::map<AgentId, int> LoadOf(const Placement& placement) {
  std::map<AgentId, int> load;
  for (const auto& holders : placement.holders) {
    for (size_t i = 1; i < holders.size(); ++i) ++load[holders[i]];
  }
  return load;
}

TEST(PlacementTest, TheOwnerIsFirstAndTheNextMachineSecond) {
  const Placement placement = Place(Even(3, 1, 1), 2);
  EXPECT_THAT(placement.holders[0], ElementsAre(0, 1));
  EXPECT_THAT(placement.holders[1], ElementsAre(1, 2));
  EXPECT_THAT(placement.holders[2], ElementsAre(2, 0));
  EXPECT_FALSE(placement.degraded());
}

TEST(PlacementTest, FewerMachinesThanReplicasIsToldAsDegraded) {
  ClusterView view;
  view.agents = {{7, 1, 1}, {8, 1, 1}, {9, 2, 1}};  // two agents of one machine
  view.owners = {7, 8, 9};
  const Placement placement = Place(view, 3);
  EXPECT_EQ(placement.wanted, 3);
  EXPECT_EQ(placement.effective, 2);
  EXPECT_TRUE(placement.degraded());
  EXPECT_THAT(placement.holders[0], ElementsAre(7, 9));
  EXPECT_THAT(placement.holders[1], ElementsAre(8, 9));
}

TEST(PlacementTest, AnotherRackIsPreferredToAnotherMachine) {
  const Placement placement = Place(Even(4, 2, 1), 2);
  for (const auto& holders : placement.holders) EXPECT_NE(holders[0] % 2, holders[1] % 2);
}

// The small rack's machine would otherwise hold everybody's copies.
TEST(PlacementTest, ALonelyRackIsNotOverrun) {
  ClusterView view = Even(10, 1, 4);
  view.agents[9].rack = 1;
  const std::map<AgentId, int> load = LoadOf(Place(view, 2));
  EXPECT_LE(load.at(9), 2 * 5);
}

TEST(PlacementTest, EvenClustersAreLoadedEvenly) {
  for (const int64_t machines : {2, 3, 4, 6, 8, 12, 16}) {
    for (const int64_t racks : {1, 2, 4}) {
      if (machines % racks != 0) continue;
      for (const int replicas : {2, 3}) {
        const Placement placement = Place(Even(machines, racks, 8), replicas);
        const std::map<AgentId, int> load = LoadOf(placement);
        int least = 1 << 30, most = 0;
        for (int64_t i = 0; i < machines; ++i) {
          const int of_agent = load.count(i) > 0 ? load.at(i) : 0;
          least = std::min(least, of_agent);
          most = std::max(most, of_agent);
        }
        EXPECT_LE(most - least, 2)
            << machines << " machines, " << racks << " racks, R " << replicas;
      }
    }
  }
}

uint64_t FirstSeed() {
  const char* seed = std::getenv("PHALANX_TEST_SEED");
  return seed == nullptr ? std::random_device()() : std::strtoull(seed, nullptr, 10);
}

TEST(PlacementTest, WhatHoldsInEveryCluster) {
  const uint64_t first = FirstSeed();
  std::printf("PHALANX_TEST_SEED=%llu\n", static_cast<unsigned long long>(first));
  for (uint64_t seed = first; seed < first + 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    ClusterView view;
    const int64_t agents = 1 + up_to(12);
    const int64_t machines = 1 + up_to(12);
    std::map<AgentId, int64_t> machine_of;
    for (int64_t i = 0; i < agents; ++i) {
      const int64_t machine = up_to(static_cast<uint64_t>(machines));
      view.agents.push_back({i * 3, machine, machine % 4});
      machine_of[i * 3] = machine;
    }
    const int64_t ranks = 1 + up_to(40);
    for (int64_t i = 0; i < ranks; ++i) {
      view.owners.push_back(3 * up_to(static_cast<uint64_t>(agents)));
    }
    const int replicas = 1 + static_cast<int>(up_to(4));
    const Placement placement = Place(view, replicas);

    std::set<int64_t> live;
    for (const auto& [agent, machine] : machine_of) live.insert(machine);
    const auto effective = std::min<size_t>(static_cast<size_t>(replicas), live.size());
    ASSERT_EQ(static_cast<size_t>(placement.effective), effective) << seed;
    std::map<int64_t, size_t> load;
    for (size_t rank = 0; rank < view.owners.size(); ++rank) {
      const auto& holders = placement.holders[rank];
      ASSERT_EQ(holders.front(), view.owners[rank]) << seed;
      std::set<int64_t> of_shard;
      for (const AgentId holder : holders) of_shard.insert(machine_of.at(holder));
      ASSERT_EQ(of_shard.size(), effective) << seed;
      ASSERT_EQ(holders.size(), effective) << seed;
      for (size_t i = 1; i < holders.size(); ++i) ++load[machine_of.at(holders[i])];
    }
    const size_t choices = live.size() - effective + 1;
    const size_t share = (view.owners.size() * (effective - 1) + choices - 1) / choices;
    for (const auto& [machine, copies] : load) ASSERT_LE(copies, 2 * share + 1) << seed;

    ClusterView shuffled = view;
    std::shuffle(shuffled.agents.begin(), shuffled.agents.end(), random);
    ASSERT_EQ(Place(shuffled, replicas).holders, placement.holders) << seed;
  }
}

}  // namespace
}  // namespace phalanx::checkpoint
