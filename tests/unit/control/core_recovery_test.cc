// The coordinator's core when ranks are lost and spares are there: who takes whose place, what
// everybody hears, and when it can't go on.
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using CoreRecoveryTest = CoreRecoveryFixture;

TEST_F(CoreRecoveryTest, ASpareTakesTheLostOnesPlaceOnceAllOthersAreBack) {
  RunWithSpares({1, 2});
  Lose(2, 2);  // rank 1, of agent 2: so the second spare
  EXPECT_EQ(
      RevokedForAll({1, 2}),
      (message::Revoked{Epoch{1}, absl::UnavailableError("rank 1 (pid 102 on node 1 'host2') died"),
                        /*goes_on=*/true}));
  EXPECT_THAT(Logged(), HasSubstr("a spare takes the place of rank 1: pid 112 on node 1 'host2'"));
  for (const uint64_t incarnation : {1U, 3U}) {
    Return({incarnation});
    EXPECT_THAT(outputs_, IsEmpty());
  }
  Return({4}, milliseconds(25));
  const message::View view = ViewSentTo({1, 2});
  EXPECT_EQ(view.epoch, Epoch{2});
  EXPECT_EQ(view.job_token, 42U);
  EXPECT_EQ(view.node_cores, (std::vector<int>{4, 4}));
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, kSpare + 1, 3, 4}));
  std::vector<std::string> addresses;
  std::vector<int> nodes;
  for (size_t rank = 0; rank < view.members.size(); ++rank) {
    EXPECT_EQ(view.members[rank].rank, static_cast<int>(rank));
    nodes.push_back(view.members[rank].node);
    addresses.push_back(view.members[rank].addresses.at("ucx"));
  }
  EXPECT_THAT(nodes, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(addresses, ElementsAre("new1", "spare12", "new3", "new4"));
  EXPECT_THAT(Logged(), HasSubstr("epoch 2 begins, 25.0 ms after the loss was known"));
  EXPECT_EQ(Over(), nullptr);
}

TEST_F(CoreRecoveryTest, ASpareOfAnotherNodeWillDo) {
  RunWithSpares({1});
  Lose(2, 4);
  Return({1, 2, 3});
  const message::View view = ViewSentTo({1, 2});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, 2, 3, kSpare}));
  EXPECT_EQ(view.members.at(3).node, 0);
}

TEST_F(CoreRecoveryTest, TheNextViewEndsAsTheFirst) {
  RunWithSpares({1});
  Lose(1, 3);
  Return({1, 2, 4});
  ASSERT_EQ(ViewSentTo({1, 2}).epoch, Epoch{2});
  SayFinished({1, 2, 4});
  EXPECT_THAT(outputs_, IsEmpty());
  Say(1, message::Finished{Incarnation{kSpare}});
  ASSERT_EQ(Sent<message::AllFinished>().size(), 2U);
  EXPECT_EQ(Sent<message::AllFinished>()[0].second.epoch, Epoch{2});
  for (const uint64_t incarnation : {uint64_t{1}, uint64_t{2}, uint64_t{4}}) {
    Say(AgentOf(incarnation), message::Leave{Incarnation{incarnation}});
    EXPECT_EQ(Over(), nullptr);
  }
  Say(1, message::Leave{Incarnation{kSpare}});
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, absl::OkStatus());
  ASSERT_EQ(Sent<message::AllLeft>().size(), 2U);
  EXPECT_EQ(Sent<message::AllLeft>()[0].second.epoch, Epoch{2});
}

TEST_F(CoreRecoveryTest, ASecondLossWhileRecovering) {
  RunWithSpares({1, 1});
  Lose(1, 1);
  Return({2, 3});
  // One that had come back already.
  Lose(2, 2);
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty()) << "they know that the view is over";
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  Return({4});
  const message::View view = ViewSentTo({1, 2});
  EXPECT_EQ(view.epoch, Epoch{2});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{kSpare, kSpare + 1, 3, 4}));
}

TEST_F(CoreRecoveryTest, TheLossOfTheLastAwaitedCompletesTheView) {
  RunWithSpares({1, 1});
  Lose(1, 1);
  Return({2, 3});
  Lose(2, 4);
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{kSpare, 2, 3, kSpare + 1}));
}

TEST_F(CoreRecoveryTest, APromotedSpareIsLostBeforeItsView) {
  RunWithSpares({1, 1});
  Lose(1, 1);
  Lose(1, kSpare);
  Return({2, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{kSpare + 1, 2, 3, 4}));
}

TEST_F(CoreRecoveryTest, OneLossAfterTheOther) {
  RunWithSpares({1, 1});
  Lose(1, 1);
  Return({2, 3, 4});
  ASSERT_EQ(ViewSentTo({1, 2}).epoch, Epoch{2});
  Lose(1, kSpare, seconds(1));
  EXPECT_EQ(RevokedForAll({1, 2}).epoch, Epoch{2});
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  Return({2, 3, 4}, seconds(2));
  const message::View view = ViewSentTo({1, 2});
  EXPECT_EQ(view.epoch, Epoch{3});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{kSpare + 1, 2, 3, 4}));
  EXPECT_THAT(Logged(), HasSubstr("epoch 3 begins, 1000.0 ms after the loss was known"));
}

TEST_F(CoreRecoveryTest, NoSpareIsLeftWhileRecovering) {
  RunWithSpares({1});
  Lose(1, 1);
  Return({2});
  Lose(1, 3);
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_FALSE(revoked.goes_on);
  EXPECT_EQ(revoked.reason.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(revoked.reason.message()),
              HasSubstr("rank 2 (pid 103 on node 0 'host1') died"));
  EXPECT_EQ(Over(), nullptr);
  // Over once all have gone, whether they had come back, had not, or had been promoted.
  Say(2, message::Leave{Incarnation{2}});
  Lose(2, 4);
  EXPECT_EQ(Over(), nullptr);
  Say(1, message::Leave{Incarnation{kSpare}});
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, revoked.reason);
}

TEST_F(CoreRecoveryTest, AMemberThatCantTakePartEndsTheJob) {
  Run4();
  for (const uint64_t incarnation : {1U, 2U, 3U}) {
    Say(AgentOf(incarnation), message::Recoverable{Incarnation{incarnation}});
  }
  Say(1, message::Recoverable{Incarnation{4}});  // of another agent's member
  Say(1, Spare(kSpare));
  Lose(1, 1);
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_FALSE(revoked.goes_on);
  for (const uint64_t incarnation : {2U, 3U, 4U}) {
    EXPECT_EQ(Over(), nullptr);
    Lose(AgentOf(incarnation), incarnation);
  }
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, revoked.reason);
}

// Nobody could do the part of one that has left.
TEST_F(CoreRecoveryTest, ALossAfterSomebodyHasLeftEndsTheJob) {
  RunWithSpares({1});
  Say(2, message::Leave{Incarnation{2}});
  Lose(1, 1);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreRecoveryTest, OneThatHasFinishedIsReplacedUntilAllHave) {
  RunWithSpares({1});
  SayFinished({1, 2, 3});
  Lose(1, 1);
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  Return({2, 3, 4});
  ASSERT_EQ(ViewSentTo({1, 2}).epoch, Epoch{2});
  // What they said in the view before doesn't count.
  SayFinished({4});
  Say(1, message::Finished{Incarnation{kSpare}});
  EXPECT_THAT(Sent<message::AllFinished>(), IsEmpty());
  SayFinished({2, 3});
  EXPECT_EQ(Sent<message::AllFinished>().size(), 2U);
}

TEST_F(CoreRecoveryTest, NothingIsRolledBackOnceAllHaveFinished) {
  RunWithSpares({1});
  SayFinished({1, 2, 3, 3});
  EXPECT_THAT(Sent<message::AllFinished>(), IsEmpty());
  Say(1, message::Finished{Incarnation{4}});  // of another agent's member
  EXPECT_THAT(Sent<message::AllFinished>(), IsEmpty());
  SayFinished({4});
  ASSERT_EQ(Sent<message::AllFinished>().size(), 2U);
  EXPECT_EQ(Sent<message::AllFinished>()[0].second.epoch, Epoch{1});
  SayFinished({4});
  EXPECT_THAT(outputs_, IsEmpty());
  // A spare that comes now hears of it at once.
  Say(2, Spare(kSpare + 1));
  ASSERT_EQ(Sent<message::AllFinished>().size(), 1U);
  EXPECT_EQ(Sent<message::AllFinished>()[0].first, 2U);
  Lose(1, 1);
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CoreRecoveryTest, WhatWasSaidBeforeTheRevocationWasKnownIsIgnored) {
  RunWithSpares({1});
  Lose(1, 1);
  Say(1, message::Ordering{"anything"});
  EXPECT_THAT(outputs_, IsEmpty());
  SayFinished({2, 3, 4});
  EXPECT_THAT(outputs_, IsEmpty());
  Say(2, message::AskCommunicatorIds{Incarnation{2}, 7, 1});
  EXPECT_THAT(outputs_, IsEmpty());
  Say(2, message::Checkpoint{"anything", 0});
  EXPECT_THAT(outputs_, IsEmpty());
  Say(1, message::MemberLost{Incarnation{1}, "died again"});
  EXPECT_THAT(outputs_, IsEmpty());
  Return({2, 3, 4});
  EXPECT_EQ(ViewSentTo({1, 2}).epoch, Epoch{2});
  EXPECT_THAT(Sent<message::AllFinished>(), IsEmpty());
}

TEST_F(CoreRecoveryTest, AStrangerIsRefusedWhileRecovering) {
  RunWithSpares({1});
  Lose(1, 1);
  Say(1, Join(0, 4, 21));
  EXPECT_EQ(Refusal(1, 21).code(), absl::StatusCode::kInvalidArgument);
  Say(1, Join(-1, 4, 22));
  EXPECT_EQ(Refusal(1, 22), absl::InvalidArgumentError("all 4 ranks are taken"));
  Say(1, Back(2));  // a member, but of another agent
  EXPECT_EQ(Refusal(1, 2), absl::InvalidArgumentError("a process joins only once"));
  Say(1, Back(1));  // the one that is lost
  EXPECT_EQ(Refusal(1, 1).code(), absl::StatusCode::kInvalidArgument);
  Return({2});
  Return({2});
  EXPECT_EQ(Refusal(2, 2), absl::InvalidArgumentError("a process joins only once"));
  // A further spare is welcome at any time.
  Say(2, Spare(kSpare + 1));
  EXPECT_EQ(Sent<message::SpareAccepted>().size(), 1U);
  Lose(2, 2);
  Return({3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{kSpare, kSpare + 1, 3, 4}));
}

TEST_F(CoreRecoveryTest, WhoeverStaysAwayIsNamedAtTheDeadline) {
  RunWithSpares({1});
  Lose(1, 1, seconds(100));
  Return({2}, seconds(101));
  Step(Tick{}, seconds(159));
  EXPECT_THAT(outputs_, IsEmpty());
  Step(Tick{}, seconds(160));
  const message::Revoked revoked = RevokedForAll({1, 2});
  EXPECT_FALSE(revoked.goes_on);
  EXPECT_EQ(revoked.reason,
            absl::DeadlineExceededError("not all ranks came back after a loss: rank 2 (pid 103 on "
                                        "node 0 'host1'), rank 3 (pid 104 on node 1 'host2')"));
  Step(Tick{}, seconds(161));
  EXPECT_THAT(outputs_, IsEmpty());
  // It ends with the last of them.
  Step(AgentLost{AgentId{2}, "reset"}, seconds(161));
  EXPECT_EQ(Over(), nullptr);
  Step(AgentLost{AgentId{1}, "reset"}, seconds(161));
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, revoked.reason);
}

TEST_F(CoreRecoveryTest, AnAgentIsLostWithTwoRanks) {
  RunWithSpares({1, 1, 2});
  Step(AgentLost{AgentId{2}, "reset"});
  EXPECT_TRUE(RevokedForAll({1}).goes_on);
  Return({1});
  Return({3});
  const message::View view = ViewSentTo({1});
  EXPECT_EQ(view.epoch, Epoch{2});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
  for (const message::Member& member : view.members) EXPECT_EQ(member.node, 0);
}

// Its ranks are all that there are, so that the view after it begins with the loss itself.
TEST_F(CoreRecoveryTest, AnAgentIsLostWithAllRanks) {
  Hello(1);
  Hello(2);
  for (uint64_t i = 1; i <= 4; ++i) {
    Say(1, Join(static_cast<int>(i) - 1, 4, i));
    if (i < 4) continue;
    for (uint64_t k = 1; k <= 4; ++k) Say(1, message::Recoverable{Incarnation{k}});
  }
  for (uint64_t i = 0; i < 4; ++i) Say(2, Spare(kSpare + i));
  Step(AgentLost{AgentId{1}, "reset"});
  const message::View view = ViewSentTo({2});
  EXPECT_EQ(view.epoch, Epoch{2});
  for (const message::Member& member : view.members) EXPECT_EQ(member.node, 1);
  for (const auto& [agent, message] : Sent<message::Checkpoint>()) EXPECT_EQ(agent, 2U);
}

// One of the lost agent's ranks had come back and the other was the only one awaited.
TEST_F(CoreRecoveryTest, NoViewBeginsWithARankOfALostAgent) {
  RunWithSpares({1, 1, 1});
  Lose(1, 1);
  Return({3, 4});
  Step(AgentLost{AgentId{2}, "reset"});
  const message::View view = ViewSentTo({1});
  EXPECT_EQ(view.epoch, Epoch{2});
  EXPECT_EQ(view.members.at(0).incarnation, Incarnation{kSpare});
  EXPECT_EQ(view.members.at(2).incarnation, Incarnation{3});
  for (const message::Member& member : view.members) EXPECT_EQ(member.node, 0);
}

TEST_F(CoreRecoveryTest, AnAgentIsLostWithMoreRanksThanThereAreSpares) {
  RunWithSpares({1});
  Step(AgentLost{AgentId{2}, "reset"});
  const auto revoked = Sent<message::Revoked>();
  ASSERT_EQ(revoked.size(), 2U);
  EXPECT_EQ(revoked[0].first, 1U);
  EXPECT_TRUE(revoked[0].second.goes_on);
  EXPECT_FALSE(revoked[1].second.goes_on);
  for (const uint64_t incarnation : {uint64_t{1}, uint64_t{3}, kSpare}) {
    EXPECT_EQ(Over(), nullptr);
    Say(1, message::Leave{Incarnation{incarnation}});
  }
  ASSERT_NE(Over(), nullptr);
}

TEST_F(CoreRecoveryTest, CommunicatorNumbersStartAnew) {
  RunWithSpares({1});
  const auto ask = [this](uint32_t count) {
    Say(2, message::AskCommunicatorIds{Incarnation{2}, 1, count});
    const auto ids = Sent<message::CommunicatorIds>();
    return ids.size() == 1 ? ids[0].second.first : 0;
  };
  EXPECT_EQ(ask(5), 1U);
  EXPECT_EQ(ask(1), 6U);
  Lose(1, 1);
  Return({2, 3, 4});
  EXPECT_EQ(ask(1), 1U);
}

TEST_F(CoreRecoveryTest, OrderIsKeptInTheNextView) {
  const auto with_order = [](Message message) {
    std::get<message::Join>(message).settings.ordering = OrderingMode::kStrict;
    return message;
  };
  Hello(1);
  for (uint64_t i = 1; i <= 2; ++i) {
    message::Join join = Join(static_cast<int>(i) - 1, 2, i);
    Say(1, with_order(join));
  }
  for (uint64_t i = 1; i <= 2; ++i) Say(1, message::Recoverable{Incarnation{i}});
  message::Join spare = Join(-1, 2, kSpare);
  spare.spare = true;
  Say(1, with_order(spare));
  Lose(1, 1);
  Say(1, message::Ordering{"of the view that is over"});
  EXPECT_THAT(Closed(), IsEmpty());
  Say(1, with_order(Join(1, 2, 2)));
  EXPECT_EQ(ViewSentTo({1}).settings.ordering, OrderingMode::kStrict);
  Say(1, message::Ordering{"garbage"});
  EXPECT_THAT(Closed(), ElementsAre(1));
}

TEST_F(CoreRecoveryTest, TellsWhoAsksWhomItWaitsFor) {
  RunWithSpares({1});
  Lose(1, 1);
  Return({2});
  Say(2, message::AskStatus{kProtocolVersion, 7, 100});
  ASSERT_EQ(Sent<message::JobStatus>().size(), 1U);
  const std::string json = Sent<message::JobStatus>()[0].second.json;
  EXPECT_THAT(json, HasSubstr(R"("phase":"recovering")"));
  EXPECT_THAT(json, HasSubstr(R"({"copies_on":[0],"node":0,"pid":111,"rank":0,"state":"ready"})"));
  EXPECT_THAT(json, HasSubstr(R"({"copies_on":[1],"node":1,"pid":102,"rank":1,"state":"ready"})"));
  EXPECT_THAT(json,
              HasSubstr(R"({"copies_on":[0],"node":0,"pid":103,"rank":2,"state":"awaited"})"));
}

}  // namespace
}  // namespace phalanx::control
