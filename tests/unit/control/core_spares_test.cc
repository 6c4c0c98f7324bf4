// The coordinator's core and its spares: who is one and until when, those that were announced, and
// losses before the first view.
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

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using CoreSparesTest = CoreRecoveryFixture;

TEST_F(CoreSparesTest, ASpareIsAcceptedWhileJoiningAndWhileRunning) {
  Hello(1);
  Say(1, Spare(kSpare));
  ASSERT_EQ(Sent<message::SpareAccepted>().size(), 1U);
  EXPECT_EQ(Sent<message::SpareAccepted>()[0].second.incarnation, Incarnation{kSpare});
  for (uint64_t i = 1; i <= 4; ++i) Say(1, Join(static_cast<int>(i) - 1, 4, i));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1})), (std::vector<uint64_t>{1, 2, 3, 4}));
  Say(1, Spare(kSpare + 1));
  EXPECT_EQ(Sent<message::SpareAccepted>().size(), 1U);
}

TEST_F(CoreSparesTest, ASpareThatIsNotOneIsRefused) {
  RunWithSpares({1});
  Say(1, Spare(kSpare + 1, 2));
  EXPECT_EQ(Refusal(1, kSpare + 1),
            absl::InvalidArgumentError("a spare has no rank; unset PHALANX_RANK"));
  Say(2, Spare(kSpare));
  EXPECT_EQ(Refusal(2, kSpare), absl::InvalidArgumentError("a process joins only once"));
  message::Join other = Join(-1, 5, kSpare + 2);
  other.spare = true;
  Say(1, other);
  EXPECT_EQ(Refusal(1, kSpare + 2).code(), absl::StatusCode::kInvalidArgument);
  other = Join(-1, 4, kSpare + 3);
  other.spare = true;
  other.settings.device_slots = 3;
  Say(1, other);
  EXPECT_THAT(std::string(Refusal(1, kSpare + 3).message()), HasSubstr("PHALANX_DEVICE_SLOTS"));
}

TEST_F(CoreSparesTest, MembersMustAgreeWithASpareThatCameFirst) {
  Hello(1);
  Say(1, Spare(kSpare));
  message::Join join = Join(0, 4, 1);
  join.settings.device_slots = 2;
  Say(1, join);
  EXPECT_THAT(std::string(Refusal(1, 1).message()), HasSubstr("PHALANX_DEVICE_SLOTS"));
}

TEST_F(CoreSparesTest, ALossIsOnlyRecoveredFromWhileThereIsASpare) {
  RunWithSpares({1});
  Lose(1, kSpare);  // while it waits
  EXPECT_THAT(Logged(), HasSubstr("a spare is lost: a process (pid 111 on node 0 'host1') died"));
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Lose(1, 1);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreSparesTest, ASpareThatLeftIsNone) {
  RunWithSpares({1});
  Say(1, message::Leave{Incarnation{kSpare}});
  EXPECT_THAT(outputs_, IsEmpty());
  Lose(1, 1);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreSparesTest, AnAgentSpeaksForItsOwnSparesOnly) {
  RunWithSpares({1});
  Lose(2, kSpare);
  Say(2, message::Leave{Incarnation{kSpare}});
  Lose(1, 1);
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreSparesTest, AnAgentIsLostWithASpareOnly) {
  Hello(3);
  Run4();
  for (uint64_t i = 1; i <= 4; ++i) Say(AgentOf(i), message::Recoverable{Incarnation{i}});
  Say(3, Spare(kSpare));
  Step(AgentLost{AgentId{3}, "reset"});
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Lose(1, 1);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreSparesTest, ALossWhileJoiningIsMadeGoodByASpare) {
  Hello(1);
  Say(1, Spare(kSpare));
  Say(1, Join(0, 4, 1));
  Say(1, Join(1, 4, 2));
  Lose(1, 2);
  EXPECT_EQ(Over(), nullptr);
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("rank 1 (pid 102 on node 0 'host1') died"));
  Say(1, Join(1, 4, 5));
  EXPECT_EQ(Refusal(1, 5).code(), absl::StatusCode::kInvalidArgument) << "rank 1 is taken again";
  Say(1, Join(2, 4, 3));
  Say(1, Join(3, 4, 4));
  const message::View view = ViewSentTo({1});
  EXPECT_EQ(view.epoch, Epoch{1});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreSparesTest, ASecondLossWhileJoiningWithoutASpareEndsTheJob) {
  Hello(1);
  Say(1, Spare(kSpare));
  Say(1, Join(0, 4, 1));
  Say(1, Join(1, 4, 2));
  Lose(1, 2);
  Lose(1, kSpare);
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Over()->status.message()), HasSubstr("rank 1"));
}

TEST_F(CoreSparesTest, AnAnnouncedSpareIsWaitedFor) {
  RunWithSpares({}, 1);
  Lose(1, 1);
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  Return({2, 3, 4});
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  Say(2, Spare(kSpare));
  EXPECT_EQ(Sent<message::SpareAccepted>().size(), 1U);
  const message::View view = ViewSentTo({1, 2});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{kSpare, 2, 3, 4}));
  EXPECT_EQ(view.epoch, Epoch{2});
  // It was the only one.
  Lose(2, kSpare);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreSparesTest, AnAnnouncedSpareIsForOneLossOnly) {
  RunWithSpares({}, 1);
  Lose(1, 1);
  Lose(1, 3);
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_FALSE(revoked.goes_on);
  EXPECT_THAT(std::string(revoked.reason.message()), HasSubstr("rank 2"));
  Say(2, Spare(kSpare));
  EXPECT_EQ(Refusal(2, kSpare), revoked.reason);
}

TEST_F(CoreSparesTest, AnAnnouncedSpareThatDoesntComeIsNamed) {
  RunWithSpares({}, 1);
  Lose(1, 1);
  Return({2, 3, 4});
  Step(Tick{}, seconds(60));
  EXPECT_EQ(
      RevokedForAll({1, 2}).reason,
      absl::DeadlineExceededError("not all ranks came back after a loss: a spare for rank 0"));
}

TEST_F(CoreSparesTest, WhatALostAgentAnnouncedDoesntCome) {
  RunWithSpares({}, 2);
  Step(AgentLost{AgentId{2}, "reset"});
  EXPECT_FALSE(RevokedForAll({1}).goes_on);
}

TEST_F(CoreSparesTest, AnAnnouncedSpareMakesGoodALossWhileJoining) {
  Hello(1, -1, 4, /*spares=*/1);
  Say(1, Join(0, 4, 1));
  Say(1, Join(1, 4, 2));
  Lose(1, 2);
  EXPECT_EQ(Over(), nullptr);
  Say(1, Join(2, 4, 3));
  Say(1, Join(3, 4, 4));
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  Say(1, Spare(kSpare));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

}  // namespace
}  // namespace phalanx::control
