// The coordinator's core when a member is there and says nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
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

constexpr char kHow[] = "is stopped (SIGSTOP?) and silent for 0.7 s";

class CoreDetectionTest : public CoreRecoveryFixture {
 protected:
  void Silent(uint64_t agent, uint64_t incarnation, Clock::duration at = {}) {
    Say(agent, message::MemberSilent{Incarnation{incarnation}, kHow}, at);
  }
  void Heard(uint64_t agent, uint64_t incarnation, uint64_t silent_ms) {
    Say(agent, message::MemberHeard{Incarnation{incarnation}, silent_ms});
  }
  // The one that its agent is told to kill by the last step; 0: nobody.
  uint64_t Evicted(uint64_t agent) const {
    const auto evicted = Sent<message::Evict>();
    if (evicted.size() != 1 || evicted[0].first != agent) return 0;
    return evicted[0].second.incarnation.value;
  }
};

TEST_F(CoreDetectionTest, AFrozenMemberIsEvictedAndReplacedOnceItsEndWasSeen) {
  RunWithSpares({2});
  Silent(2, 2);
  EXPECT_EQ(Evicted(2), 2U);
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_TRUE(revoked.goes_on);
  EXPECT_EQ(revoked.reason,
            absl::UnavailableError(std::string("rank 1 (pid 102 on node 1 'host2') ") + kHow));
  EXPECT_THAT(Logged(), HasSubstr("silent for 0.7 s; it is evicted"));
  // All others are back: the view still waits for its end.
  Return({1, 3, 4});
  EXPECT_THAT(outputs_, IsEmpty());
  Lose(2, 2, milliseconds(7));
  EXPECT_THAT(Logged(), HasSubstr("a spare takes the place of rank 1"));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreDetectionTest, WhatAnEvictedOneStillSaysIsRefused) {
  RunWithSpares({2});
  Silent(2, 2);
  Return({2});
  EXPECT_FALSE(Refusal(2, 2).ok());
  Silent(2, 2);  // again
  EXPECT_THAT(outputs_, IsEmpty());
  Return({1, 3, 4});
  Lose(2, 2);
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreDetectionTest, AnEvictedOneIsLostWithItsAgent) {
  RunWithSpares({1, 1});
  Silent(2, 2);
  Return({1, 3});
  Step(AgentLost{AgentId{2}, "it broke"});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1})), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
}

TEST_F(CoreDetectionTest, WithoutASpareItIsWaitedForAndNamedNowAndThen) {
  RunWithSpares({});
  Silent(2, 2, seconds(1));
  EXPECT_EQ(Logged(), std::string("rank 1 (pid 102 on node 1 'host2') ") + kHow +
                          "; nobody can take its place, so the job waits for it\n");
  EXPECT_EQ(Evicted(2), 0U);
  EXPECT_EQ(Sent<message::Revoked>().size(), 0U);
  for (int second = 2; second <= 10; ++second) {
    Silent(2, 2, seconds(second));
    EXPECT_THAT(outputs_, IsEmpty());
  }
  Silent(2, 2, seconds(11));
  EXPECT_THAT(Logged(), HasSubstr("nobody can take its place"));
  Heard(2, 2, 11'140);
  EXPECT_EQ(Logged(), "rank 1 (pid 102 on node 1 'host2') answers again after 11.1 s\n");
  Heard(2, 2, 1);
  EXPECT_THAT(outputs_, IsEmpty());
}

TEST_F(CoreDetectionTest, OneThatCantBeReplacedYetIsOnceASpareIsThere) {
  RunWithSpares({});
  Silent(2, 2);
  EXPECT_EQ(Evicted(2), 0U);
  Say(1, Spare(kSpare));
  EXPECT_EQ(Evicted(2), 0U);
  Silent(2, 2, seconds(1));
  EXPECT_EQ(Evicted(2), 2U);
}

TEST_F(CoreDetectionTest, WhereNotAllAreInsideOfRunNobodyIsEvicted) {
  Run4(1);
  for (const uint64_t incarnation : {1U, 3U}) {
    Say(1, message::Recoverable{Incarnation{incarnation}});
  }
  Silent(2, 2);
  EXPECT_EQ(Evicted(2), 0U);
  Say(2, message::Recoverable{Incarnation{4}});
  Silent(2, 2, seconds(1));  // of itself nothing is wanted
  EXPECT_EQ(Evicted(2), 2U);
}

TEST_F(CoreDetectionTest, AnotherAgentsMembersAreNoneOfItsBusiness) {
  RunWithSpares({1});
  Silent(1, 2);
  EXPECT_THAT(outputs_, IsEmpty());
  Heard(1, 2, 5);
  EXPECT_THAT(outputs_, IsEmpty());
}

TEST_F(CoreDetectionTest, OneThatHasLeftMayBeSilent) {
  RunWithSpares({1});
  Say(2, message::Leave{Incarnation{2}});
  Silent(2, 2);
  EXPECT_THAT(outputs_, IsEmpty());
}

TEST_F(CoreDetectionTest, OneThatIsFrozenWhileTheOthersComeBack) {
  RunWithSpares({1, 1});
  Lose(1, 1);
  Return({3, 4});
  Silent(2, 2, milliseconds(700));
  EXPECT_EQ(Evicted(2), 2U);
  EXPECT_EQ(Sent<message::Revoked>().size(), 0U);  // it is already
  Lose(2, 2);
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{kSpare, kSpare + 1, 3, 4}));
}

TEST_F(CoreDetectionTest, TwoAtOnceNeedTwoSpares) {
  RunWithSpares({1});
  Silent(2, 2);
  EXPECT_EQ(Evicted(2), 2U);
  Silent(2, 4);  // the only spare is promised
  EXPECT_EQ(Evicted(2), 0U);
  EXPECT_THAT(Logged(), HasSubstr("rank 3 (pid 104 on node 1 'host2') is stopped"));
  Lose(2, 2);
  Return({1, 3});
  EXPECT_THAT(outputs_, IsEmpty());
  Heard(2, 4, 900);
  Return({4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreDetectionTest, AFrozenSpareTakesNobodysPlace) {
  RunWithSpares({2, 1});
  Silent(2, kSpare);
  EXPECT_THAT(Logged(), HasSubstr("it can take nobody's place like that"));
  EXPECT_EQ(Evicted(2), 0U);
  Lose(2, 2);
  Return({1, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare + 1, 3, 4}));
}

TEST_F(CoreDetectionTest, WithOnlyAFrozenSpareALossEndsTheJob) {
  RunWithSpares({2});
  Silent(2, kSpare);
  Lose(2, 2);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreDetectionTest, ASpareThatGoesOnIsOneAgain) {
  RunWithSpares({2});
  Silent(2, kSpare);
  Heard(2, kSpare, 3100);
  EXPECT_THAT(Logged(), HasSubstr("answers again after 3.1 s"));
  Silent(2, 2);
  EXPECT_EQ(Evicted(2), 2U);
}

TEST_F(CoreDetectionTest, AnAgentThatSaysNothingIsNamedOnce) {
  RunWithSpares({1});
  std::string lines;
  for (int ms = 0; ms <= 30'000; ms += 100) {
    Say(1, message::Heartbeat{}, milliseconds(ms));
    lines += Logged();
    Step(Tick{}, milliseconds(ms));
    lines += Logged();
  }
  EXPECT_EQ(lines,
            "the agent of node 1 'host2' has said nothing for 10.0 s although its connection is "
            "open; the job waits for it\n");
  Say(2, message::Heartbeat{}, milliseconds(30'000));
  EXPECT_EQ(Logged(), "the agent of node 1 'host2' answers again after 30.0 s\n");
}

TEST_F(CoreDetectionTest, AgentsHearThatItIsThere) {
  Hello(1);
  Hello(2);
  Step(Tick{}, milliseconds(100));
  EXPECT_EQ(heartbeats_, (std::vector<uint64_t>{1, 2}));
}

TEST_F(CoreDetectionTest, HeartbeatsOfStrangersSayNothing) {
  Say(7, message::Heartbeat{});
  EXPECT_THAT(outputs_, IsEmpty());
}

}  // namespace
}  // namespace phalanx::control
