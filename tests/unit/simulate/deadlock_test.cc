// The published configurations, in as many rounds as a quick test has time for.
#include "simulate/deadlock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

namespace phalanx::simulate {
namespace {

DeadlockConfig Example(const std::string& name) {
  auto config = ReadDeadlockConfig(std::string(DEADLOCK_EXAMPLES) + "/" + name + ".json");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

int CollectivesOf(const DeadlockConfig& config) {
  int collectives = 0;
  for (const Group& group : config.groups) collectives += group.collectives;
  return collectives;
}

// Groups that cross, and much disorder.
DeadlockConfig Crossing(Interface interface) {
  DeadlockConfig config;
  config.groups = {{{0, 1, 2, 3}, 12}, {{0, 2}, 12}, {{1, 3, 4}, 8}, {{2, 4, 5}, 10}};
  config.ranks = 6;
  config.interface = interface;
  config.disorder = 0.25;
  config.rounds = config.phalanx_rounds = 300;
  config.ranks_per_node = 2;
  return config;
}

class SingleQueueTest : public testing::TestWithParam<const char*> {};

TEST_P(SingleQueueTest, ReproducesTheRateAndPhalanxHasNone) {
  DeadlockConfig config = Example(std::string("8_ranks_") + GetParam());
  EXPECT_EQ(config.ranks, 8);
  EXPECT_EQ(CollectivesOf(config), 161);
  config.rounds = 4000;
  config.phalanx_rounds = 50;
  const DeadlockResult result = SimulateDeadlock(config);
  const Interval interval = ConfidenceOf(result.plain);
  // No deadlock if none of 8 × 160 choices passes over a collective. (The fixed seed makes this no
  // matter of luck from run to run.)
  const double expected = 1 - std::pow(1 - config.disorder, 8 * 160);
  EXPECT_TRUE(interval.Holds(expected)) << expected << " " << result.plain.value();
  ASSERT_TRUE(config.published.has_value());
  // Of how many rounds the figure is isn't known: half a percentage point.
  EXPECT_NEAR(result.plain.value(), config.published->rate, 0.005);
  EXPECT_EQ(result.plain_exact.hits, result.plain.hits);  // one group: the rule is exact
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, 0U);
  EXPECT_EQ(result.phalanx.rounds, 50U);
  EXPECT_EQ(result.collectives, 50U * 161U);
}

INSTANTIATE_TEST_SUITE_P(Disorders, SingleQueueTest,
                         testing::Values("1e-6", "1e-5", "1e-4", "1e-3"));

TEST(Synchronisation, ReproducesTheRateOf64RanksAndPhalanxHasNone) {
  DeadlockConfig config = Example("64_ranks_4x4x4");
  EXPECT_EQ(config.ranks, 64);
  EXPECT_EQ(CollectivesOf(config), 25'600);
  config.rounds = 250;
  config.phalanx_rounds = 2;
  const DeadlockResult result = SimulateDeadlock(config);
  ASSERT_TRUE(config.published.has_value());
  EXPECT_TRUE(ConfidenceOf(result.plain).Holds(config.published->rate)) << result.plain.value();
  // What the published rule calls a deadlock includes all real ones, and more.
  EXPECT_GT(result.plain_exact.hits, 0U);
  EXPECT_LT(result.plain_exact.hits, result.plain.hits);
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, 0U);
  EXPECT_EQ(result.collectives, 2U * 25'600U);
}

TEST(Synchronisation, TheLargeExampleIsThePublishedOne) {
  const DeadlockConfig config = Example("3072_ranks_8x6x64");
  EXPECT_EQ(config.ranks, 3072);
  EXPECT_EQ(config.groups.size(), 896U);
  EXPECT_EQ(CollectivesOf(config), 768'000);
}

TEST(Synchronisation, WithKeysPhalanxCompletesWhatPlainLaunchingCant) {
  DeadlockConfig config = Crossing(Interface::kKey);
  config.model = Model::kSynchronisation;
  config.synchronisation = 0.1;
  const DeadlockResult result = SimulateDeadlock(config);
  EXPECT_GT(result.impossible, 30U);
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, 0U);
  EXPECT_EQ(result.collectives, 300U * static_cast<uint64_t>(CollectivesOf(config)));
}

TEST(Synchronisation, InStreamsPhalanxExplainsExactlyWhatNoOrderCompletes) {
  DeadlockConfig config = Crossing(Interface::kStream);
  config.model = Model::kSynchronisation;
  config.synchronisation = 0.1;
  const DeadlockResult result = SimulateDeadlock(config);
  EXPECT_GT(result.impossible, 30U);
  EXPECT_LT(result.impossible, 250U);
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, result.impossible);
}

TEST(SingleQueue, SeesCirclesThroughSeveralGroups) {
  // The published rule sees two members of one group under way with different collectives of it;
  // here each pair of ranks shares one collective, and each rank begins with another pair's.
  DeadlockConfig config;
  config.groups = {{{0, 1}, 1}, {{1, 2}, 1}, {{0, 2}, 1}};
  config.ranks = 3;
  config.disorder = 0.5;
  config.rounds = config.phalanx_rounds = 400;
  config.ranks_per_node = 1;
  const DeadlockResult result = SimulateDeadlock(config);
  EXPECT_EQ(result.plain.hits, 0U);
  EXPECT_GT(result.plain_exact.hits, 50U);
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, 0U);
  EXPECT_EQ(result.tickets, 1200U);
}

TEST(Deadlock, OrderedProgramsNeedNoHelp) {
  DeadlockConfig config = Crossing(Interface::kStream);
  config.model = Model::kSynchronisation;
  config.synchronisation = 0.1;
  config.disorder = 0;
  const DeadlockResult result = SimulateDeadlock(config);
  EXPECT_EQ(result.plain_exact.hits, 0U);
  EXPECT_EQ(result.phalanx.hits, 0U);
  EXPECT_EQ(result.explained.hits, 0U);
}

TEST(Deadlock, EqualSeedsGiveEqualRounds) {
  DeadlockConfig config = Crossing(Interface::kKey);
  config.model = Model::kSynchronisation;
  config.synchronisation = 0.1;
  const DeadlockResult first = SimulateDeadlock(config);
  const DeadlockResult again = SimulateDeadlock(config);
  EXPECT_EQ(again.plain.hits, first.plain.hits);
  EXPECT_EQ(again.plain_exact.hits, first.plain_exact.hits);
  EXPECT_EQ(again.tickets, first.tickets);
  config.seed = 2;
  const DeadlockResult other = SimulateDeadlock(config);
  EXPECT_NE(std::make_pair(other.plain.hits, other.plain_exact.hits),
            std::make_pair(first.plain.hits, first.plain_exact.hits));
}

}  // namespace
}  // namespace phalanx::simulate
