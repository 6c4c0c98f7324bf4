// The coordinator's core where launchers start processes anew: which losses they answer, how often,
// and what becomes of a job whose new process never comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "control_coordinator/core.h"
#include "core_recovery_fixture.h"

namespace phalanx::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class CoreRestartsTest : public CoreRecoveryFixture {
 protected:
  // Four members that can take part in another view; each agent may start so many processes.
  void Run4WithRestarts(int restarts, int spares = 0) {
    for (const uint64_t agent : {1U, 2U}) {
      message::AgentHello hello;
      hello.job = "job";
      hello.node_name = "host" + std::to_string(agent);
      hello.machine = "one";
      hello.restarts = restarts;
      hello.spares = agent == 1 ? spares : 0;
      Say(agent, hello);
    }
    for (uint64_t i = 1; i <= 4; ++i) {
      Say(AgentOf(i), Join(static_cast<int>(i) - 1, 4, i));
    }
    for (uint64_t i = 1; i <= 4; ++i) Say(AgentOf(i), message::Recoverable{Incarnation{i}});
  }
  std::vector<uint64_t> Started() const {
    std::vector<uint64_t> agents;
    for (const auto& [agent, start] : Sent<message::StartSpare>()) agents.push_back(agent);
    return agents;
  }
};

TEST_F(CoreRestartsTest, WithoutASpareANewProcessTakesTheRank) {
  Run4WithRestarts(1);
  Lose(2, 2);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  EXPECT_THAT(Logged(), HasSubstr("waiting for a spare that takes the place of rank 1"));
  Return({1, 3, 4});
  Say(2, Spare(kSpare));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
  Lose(2, 4);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreRestartsTest, WhereThereIsASpareTheNewProcessIsTheNextOne) {
  Run4WithRestarts(1, 1);
  Say(1, Spare(kSpare));
  Lose(2, 2);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  EXPECT_THAT(Logged(), HasSubstr("a spare takes the place of rank 1: pid 111"));
  Return({1, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
  Say(2, Spare(kSpare + 1));
  EXPECT_EQ(Sent<message::SpareAccepted>().size(), 1U);
  Lose(1, kSpare);  // the other node may still start one
  EXPECT_EQ(Started(), (std::vector<uint64_t>{1}));
  Return({1, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare + 1, 3, 4}));
}

TEST_F(CoreRestartsTest, ALostSpareIsReplacedToo) {
  Run4WithRestarts(1, 1);
  Say(1, Spare(kSpare));
  Lose(1, kSpare);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{1}));
}

TEST_F(CoreRestartsTest, ALossThatEndsTheJobStartsNothing) {
  Run4WithRestarts(1);
  Say(1, message::Leave{Incarnation{1}});
  Lose(2, 2);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreRestartsTest, WhatAnEarlierCoordinatorHasAnsweredIsntAnsweredAgain) {
  Run4WithRestarts(2);
  Say(2, message::MemberLost{Incarnation{2}, "died", /*restarted=*/true});
  EXPECT_THAT(Started(), IsEmpty());
}

TEST_F(CoreRestartsTest, TwoAtOnceOnOneNode) {
  Run4WithRestarts(2);
  Lose(2, 2);
  Lose(2, 4);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  Return({1, 3});
  Say(2, Spare(kSpare));
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  Say(2, Spare(kSpare + 1));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
}

TEST_F(CoreRestartsTest, AFrozenMemberIsEvictedForOneThatIsStillToBeStarted) {
  Run4WithRestarts(1);
  Say(2, message::MemberSilent{Incarnation{2}, "is stopped"});
  ASSERT_EQ(Sent<message::Evict>().size(), 1U);
  EXPECT_THAT(Started(), IsEmpty());
  Say(1, message::MemberSilent{Incarnation{1}, "is stopped"});  // meanwhile, on the other node
  ASSERT_EQ(Sent<message::Evict>().size(), 1U);
  Say(2, message::MemberSilent{Incarnation{4}, "is stopped"});  // its node starts one only
  EXPECT_THAT(Sent<message::Evict>(), IsEmpty());
  Lose(2, 2);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  Lose(1, 1);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{1}));
  EXPECT_EQ(Over(), nullptr);
}

TEST_F(CoreRestartsTest, ANewProcessThatEndsBeforeItJoinsIsStartedAgain) {
  Run4WithRestarts(2);
  Lose(2, 2);
  Say(2, message::SpareGone{"exited with code 3"});
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  EXPECT_THAT(Logged(), HasSubstr("a spare on node 1 'host2' exited with code 3 before it joined"));
  Say(2, message::SpareGone{"exited with code 3"});
  EXPECT_THAT(Started(), IsEmpty());
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_FALSE(revoked.goes_on);
  EXPECT_EQ(revoked.reason,
            absl::UnavailableError("a spare on node 1 'host2' exited with code 3 before it joined; "
                                   "no spare is left for rank 1"));
}

TEST_F(CoreRestartsTest, AnAnnouncedSpareThatEndsIsNotWaitedFor) {
  Run4WithRestarts(0, 1);
  Lose(2, 2);
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  Say(1, message::SpareGone{"exited with code 3"});
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreRestartsTest, OneThatNobodyMissesEndsNothing) {
  Run4WithRestarts(0, 1);
  Say(1, message::SpareGone{"exited with code 3"});
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Say(1, message::SpareGone{"exited with code 3"});  // more than were announced
  Lose(2, 2);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

}  // namespace
}  // namespace phalanx::control
