// The coordinator's core when an agent is there and says nothing: witnesses, and the eviction of
// its node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "control_coordinator/core.h"
#include "core_recovery_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Ranks 0 and 2 at agent 1, 1 and 3 at agent 2, none at agent 3. They are on nodes 0, 1 and 2.
class CoreEvictionTest : public CoreRecoveryFixture {
 protected:
  void Start(const std::vector<uint64_t>& spares_at) {
    for (const uint64_t agent : {1U, 2U, 3U}) HelloOf(agent, false);
    for (int rank = 0; rank < 4; ++rank) {
      const auto incarnation = static_cast<uint64_t>(rank) + 1;
      Say(AgentOf(incarnation), Join(rank, 4, incarnation));
    }
    for (uint64_t incarnation = 1; incarnation <= 4; ++incarnation) {
      Say(AgentOf(incarnation), message::Recoverable{Incarnation{incarnation}});
    }
    for (size_t i = 0; i < spares_at.size(); ++i) Say(spares_at[i], Spare(kSpare + i));
  }
  void HelloOf(uint64_t agent, bool returns, int spares = 0) {
    message::AgentHello hello;
    hello.job = "job";
    hello.node = static_cast<int>(agent % 10) - 1;
    hello.node_name = "host" + std::to_string(agent % 10);
    hello.returns = returns;
    hello.spares = spares;
    hello.machine = "one";
    hello.peers = {"127.0.0.1", static_cast<uint16_t>(1000 + agent)};
    Say(agent, hello);
  }
  // A tenth of a second in which these say that they are there; keeps what came of it.
  void Pass(const std::vector<uint64_t>& heard) {
    ms_ += 100;
    for (const uint64_t agent : heard) Say(agent, message::Heartbeat{}, milliseconds(ms_));
    Step(Tick{}, milliseconds(ms_));
    for (const auto& asked : Sent<message::AskWitness>()) asked_.push_back(asked);
    log_ += Logged();
  }
  void Pass(int ms, const std::vector<uint64_t>& heard) {
    for (int i = 0; i < ms / 100; ++i) Pass(heard);
  }
  // All who were asked give this answer.
  void Answer(bool answered) {
    for (const auto& [agent, ask] : std::exchange(asked_, {})) {
      Say(agent, message::WitnessSays{ask.suspect, ask.round, answered}, milliseconds(ms_));
    }
  }
  std::vector<int> EvictedNodes() const {
    std::vector<int> nodes;
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* evicted = std::get_if<NodeEvicted>(&output)) nodes.push_back(evicted->node);
    }
    return nodes;
  }
  // Agent 2 is silent, and its node is evicted by the last step.
  void EvictTheSecond() {
    Pass(900, {1, 3});
    Answer(false);
    Pass({1, 3});
    EXPECT_THAT(EvictedNodes(), IsEmpty());
    Pass({1, 3});
    ASSERT_EQ(EvictedNodes(), std::vector<int>{1});
  }

  int ms_ = 0;
  std::vector<std::pair<uint64_t, message::AskWitness>> asked_;
  std::string log_;
};

TEST_F(CoreEvictionTest, OthersAreAskedAboutASilentAgent) {
  Start({1, 3});
  Pass(600, {1, 3});
  EXPECT_THAT(asked_, IsEmpty());
  Pass(300, {1, 3});
  ASSERT_EQ(asked_.size(), 2U);
  std::set<uint64_t> witnesses;
  for (const auto& [agent, ask] : asked_) {
    witnesses.insert(agent);
    EXPECT_EQ(ask.suspect, 1);
    EXPECT_EQ(ask.peers, (Endpoint{"127.0.0.1", 1002}));
    EXPECT_EQ(ask.wait_ms, 3000U);
  }
  EXPECT_EQ(witnesses, (std::set<uint64_t>{1, 3}));
  EXPECT_EQ(log_, "");
}

TEST_F(CoreEvictionTest, ANodeThatNobodyHearsIsEvictedAndReplaced) {
  Start({1, 3});
  EvictTheSecond();
  EXPECT_EQ(record_->evicted_nodes, std::set<int>{1});
  EXPECT_TRUE(RevokedForAll({1, 3}).goes_on);
  EXPECT_THAT(log_, HasSubstr("node 1 'host2' is evicted: it has said nothing for "));
  EXPECT_EQ(Closed(), std::vector<uint64_t>{2});
  ASSERT_EQ(Sent<message::Refused>().size(), 1U);
  EXPECT_EQ(Sent<message::Refused>()[0].first, 2U);
  EXPECT_TRUE(Sent<message::Refused>()[0].second.evicted);
  Return({1, 3});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 3})), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
}

TEST_F(CoreEvictionTest, ItIsInTheRecordBeforeItHearsOfIt) {
  Start({1, 3});
  Pass(900, {1, 3});
  Answer(false);
  Pass({1, 3});
  writes_at_once_ = false;
  Pass({1, 3});
  ASSERT_NE(Written(), nullptr);
  EXPECT_EQ(Written()->record.evicted_nodes, std::set<int>{1});
  EXPECT_THAT(EvictedNodes(), IsEmpty());
  EXPECT_THAT(Sent<message::Refused>(), IsEmpty());
  Step(RecordWritten{});
  EXPECT_EQ(EvictedNodes(), std::vector<int>{1});
  EXPECT_EQ(Sent<message::Refused>().size(), 1U);
}

TEST_F(CoreEvictionTest, WhatAnEvictedAgentSaysIsRefusedAlsoWhenItComesBack) {
  Start({1, 3});
  EvictTheSecond();
  for (const Message& message : {Back(2), Message(message::Heartbeat{}),
                                 Message(message::MemberLost{Incarnation{1}, "died"}),
                                 Message(message::WitnessSays{0, 1, false})}) {
    Say(2, message);
    EXPECT_THAT(outputs_, IsEmpty());
  }
  Step(AgentLost{AgentId{2}, "it broke"});
  EXPECT_THAT(outputs_, IsEmpty());
  HelloOf(12, true);
  ASSERT_EQ(Sent<message::Refused>().size(), 1U);
  EXPECT_TRUE(Sent<message::Refused>()[0].second.evicted);
  EXPECT_EQ(Closed(), std::vector<uint64_t>{12});
}

TEST_F(CoreEvictionTest, ACoordinatorThatComesLaterGoesOnRefusingIt) {
  Start({1, 3});
  EvictTheSecond();
  Return({1, 3});
  ASSERT_TRUE(record_.has_value());
  core_.emplace(SettingsOf(record_), now_);
  HelloOf(22, true);
  EXPECT_EQ(EvictedNodes(), std::vector<int>{1});  // said again
  ASSERT_EQ(Sent<message::Refused>().size(), 1U);
  EXPECT_TRUE(Sent<message::Refused>()[0].second.evicted);
  EXPECT_EQ(Closed(), std::vector<uint64_t>{22});
}

// Before the next view was in the record: the old one still has the node's ranks.
TEST_F(CoreEvictionTest, ACoordinatorThatComesLaterGivesItsPlacesAwayOnceThereAreSpares) {
  Start({1, 3});
  EvictTheSecond();
  core_.emplace(SettingsOf(record_), now_);
  HelloOf(11, true);
  for (const uint64_t incarnation : {1U, 3U}) Say(11, Back(incarnation));
  Step(Tick{});
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  HelloOf(13, true, /*spares=*/2);
  Say(13, Spare(kSpare));
  Step(Tick{});
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  Say(13, Spare(kSpare + 1));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({11, 13})),
            (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
}

TEST_F(CoreEvictionTest, ACoordinatorThatComesLaterEndsTheJobAtOnceIfNobodyHasSpares) {
  Start({1, 3});
  EvictTheSecond();
  core_.emplace(SettingsOf(record_), now_);
  HelloOf(11, true);
  HelloOf(13, true);
  Step(Tick{});
  EXPECT_THAT(Logged(), HasSubstr("no spare is left"));
  EXPECT_FALSE(RevokedForAll({11, 13}).goes_on);
}

TEST_F(CoreEvictionTest, AnAnswerToAnybodyClearsIt) {
  Start({1, 3});
  for (int i = 0; i < 5; ++i) {
    Pass(3000, {1, 3});
    ASSERT_FALSE(asked_.empty());
    for (const auto& [agent, ask] : std::exchange(asked_, {})) {
      Say(agent, message::WitnessSays{ask.suspect, ask.round, agent == 3}, milliseconds(ms_));
    }
  }
  EXPECT_THAT(log_, Not(HasSubstr("evicted")));
  EXPECT_THAT(log_, HasSubstr("although its connection is open; the job waits for it"));
}

TEST_F(CoreEvictionTest, ItsOwnWordClearsItAndWhatWitnessesSayAfterwardsIsIgnored) {
  Start({1, 3});
  Pass(900, {1, 3});
  Pass({1, 2, 3});
  Answer(false);
  Pass(600, {1, 3});
  EXPECT_THAT(EvictedNodes(), IsEmpty());
  EXPECT_EQ(log_, "");
}

TEST_F(CoreEvictionTest, ACoordinatorThatWasLateItselfBeginsAnew) {
  Start({1, 3});
  Pass(900, {1, 3});
  ms_ += 2000;
  Answer(false);
  Pass({1, 3});
  Pass({1, 3});
  Pass({1, 3});
  EXPECT_THAT(log_, Not(HasSubstr("evicted")));
}

TEST_F(CoreEvictionTest, WithoutEnoughSparesElsewhereItIsOnlyNamed) {
  Start({1, 2, 2});
  Pass(900, {1, 3});
  Answer(false);
  Pass(200, {1, 3});
  EXPECT_THAT(EvictedNodes(), IsEmpty());
  EXPECT_THAT(log_, HasSubstr("and no other node hears it; the job can't go on without it"));
  Say(3, Spare(kSpare + 3), milliseconds(ms_));
  Pass(1500, {1, 3});
  Answer(false);
  Pass({1, 3});
  Pass({1, 3});
  EXPECT_EQ(EvictedNodes(), std::vector<int>{1});
}

TEST_F(CoreEvictionTest, WithoutAWitnessNobodyIsEvicted) {
  Start({1, 3});
  Pass(30'000, {});
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(log_, Not(HasSubstr("evicted")));
}

TEST_F(CoreEvictionTest, ANodeWithoutRanksIsEvictedAndTheViewStays) {
  Start({1});
  Pass(900, {1, 2});
  Answer(false);
  Pass({1, 2});
  Pass({1, 2});
  EXPECT_EQ(EvictedNodes(), std::vector<int>{2});
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
}

TEST_F(CoreEvictionTest, ANodeThatIsFrozenWhileTheOthersComeBack) {
  Start({1, 3, 3});
  Lose(1, 1);
  Return({3});
  Pass(900, {1, 3});
  Answer(false);
  Pass({1, 3});
  Pass({1, 3});
  EXPECT_EQ(EvictedNodes(), std::vector<int>{1});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 3})),
            (std::vector<uint64_t>{kSpare, kSpare + 1, 3, kSpare + 2}));
}

}  // namespace
}  // namespace phalanx::control
