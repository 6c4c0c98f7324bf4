// The coordinator's core and nodes that come late, come back, or never do: what the job waits for,
// and when it can't go on any more.
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

class CoreReturningTest : public CoreRecoveryFixture {
 protected:
  void Replace() {
    ASSERT_TRUE(record_.has_value());
    core_.emplace(SettingsOf(record_), now_);
  }
  void Come(uint64_t agent, int node, int spares, bool returns, Clock::duration at = {}) {
    message::AgentHello hello;
    hello.job = "job";
    hello.node = node;
    hello.node_name = "host" + std::to_string(agent);
    hello.machine = "one";
    hello.spares = spares;
    hello.returns = returns;
    Say(agent, hello, at);
  }
  // Two nodes with ranks and a third one, agent 3, with so many spares.
  void RunWithSpareNode(int spares) {
    Come(3, 2, spares, false);
    RunWithSpares({});
    for (int i = 0; i < spares; ++i) Say(3, Spare(kSpare + static_cast<uint64_t>(i)));
  }
  void FinishAll() { SayFinished({1, 2, 3, 4}); }
};

TEST_F(CoreReturningTest, ANodeThatIsLateWithSparesIsAdmitted) {
  RunWithSpares({});
  Come(3, 2, 1, false);
  EXPECT_EQ(Sent<message::AgentWelcome>().size(), 1U);
  Say(3, Spare(kSpare));
  Lose(2, 2);
  Return({1, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2, 3})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreReturningTest, ALossIsJudgedOnceAllNodesHaveComeBack) {
  RunWithSpareNode(1);
  Replace();
  Come(7, 0, 0, true);
  Come(8, 1, 0, true);
  Lose(8, 4);
  EXPECT_EQ(Over(), nullptr);
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Say(7, Back(1));
  Say(8, Back(2));
  Say(7, Back(3));
  Come(9, 2, 1, true);
  Say(9, Spare(kSpare));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({7, 8, 9})), (std::vector<uint64_t>{1, 2, 3, kSpare}));
}

TEST_F(CoreReturningTest, WithoutTheNodeThatHadTheSpareTheJobFailsWhenItIsGivenUp) {
  RunWithSpareNode(1);
  Replace();
  Come(7, 0, 0, true);
  Come(8, 1, 0, true);
  Lose(8, 4);
  Step(Tick{}, seconds(9));
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Step(Tick{}, seconds(11));
  EXPECT_FALSE(RevokedForAll({7, 8}).goes_on);
  EXPECT_THAT(Logged(), HasSubstr("no spare is left for rank 3"));
}

TEST_F(CoreReturningTest, TheAwaitedSpareIsLostWithItsAgent) {
  Come(3, 2, 1, false);
  RunWithSpares({});
  Lose(2, 2);
  EXPECT_TRUE(RevokedForAll({1, 2, 3}).goes_on);
  Step(AgentLost{AgentId{3}, "it died"});
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
  EXPECT_THAT(Logged(), HasSubstr("no spare is left for rank 1"));
}

TEST_F(CoreReturningTest, APromotedSpareThatComesAgainIsAwaitedNoMore) {
  RunWithSpares({1});
  writes_at_once_ = false;
  Lose(2, 2);
  Return({1, 3, 4});
  ASSERT_NE(Written(), nullptr);  // with the spare in it; nobody hears of that
  record_ = Written()->record;
  writes_at_once_ = true;
  Replace();
  Come(7, 0, /*spares=*/1, true);
  Say(7, Spare(kSpare));
  Come(8, 1, 0, true);
  Lose(8, 4);
  EXPECT_FALSE(RevokedForAll({7, 8}).goes_on);
  EXPECT_THAT(Logged(), HasSubstr("no spare is left"));
}

TEST_F(CoreReturningTest, APromotedSpareThatComesAgainIsNobodysSpare) {
  RunWithSpares({1});
  writes_at_once_ = false;
  Lose(2, 2);
  Return({1, 3, 4});
  ASSERT_NE(Written(), nullptr);
  record_ = Written()->record;
  writes_at_once_ = true;
  Replace();
  Come(7, 0, /*spares=*/1, true);
  Come(8, 1, 0, true);
  Lose(8, 4);  // before anybody knows that the announced spare is a member
  EXPECT_THAT(Sent<message::Revoked>(), IsEmpty());
  Say(7, Spare(kSpare));
  EXPECT_FALSE(RevokedForAll({7, 8}).goes_on);
}

TEST_F(CoreReturningTest, ANodeThatDoesntComeBackAfterTheEndHoldsNobody) {
  RunWithSpares({});
  FinishAll();
  Replace();
  Come(7, 0, 0, true);
  Say(7, message::Leave{Incarnation{1}});
  Say(7, message::Leave{Incarnation{3}});
  EXPECT_EQ(Over(), nullptr);
  Step(Tick{}, seconds(11));
  ASSERT_NE(Over(), nullptr);
  EXPECT_TRUE(Over()->status.ok());
}

TEST_F(CoreReturningTest, ALostAgentWhoseRanksHaveLeftHarmsNobody) {
  RunWithSpares({});
  FinishAll();
  Say(1, message::Leave{Incarnation{1}});
  Say(1, message::Leave{Incarnation{3}});
  Step(AgentLost{AgentId{1}, "it died"});
  Say(2, message::Leave{Incarnation{2}});
  Say(2, message::Leave{Incarnation{4}});
  ASSERT_NE(Over(), nullptr);
  EXPECT_TRUE(Over()->status.ok());
}

TEST_F(CoreReturningTest, OfALostNodeNobodyNeedsToHaveBeenInRun) {
  Run4();
  Say(1, message::Recoverable{Incarnation{1}});
  Say(1, message::Recoverable{Incarnation{3}});
  Say(2, message::Recoverable{Incarnation{2}});
  Say(1, Spare(kSpare));
  Say(1, Spare(kSpare + 1));
  Step(AgentLost{AgentId{2}, "it died"});
  EXPECT_TRUE(RevokedForAll({1}).goes_on);
}

TEST_F(CoreReturningTest, WhoIsEvictedAndJoinsAgainIsNotRefused) {
  RunWithSpares({1, 1});
  Lose(2, 2);
  Say(1, message::MemberSilent{Incarnation{3}, "is stopped"});
  EXPECT_EQ(Sent<message::Evict>().size(), 1U);
  Say(1, Back(3));  // its agent would forget to tell its end
  EXPECT_THAT(Sent<message::Refused>(), IsEmpty());
  Lose(1, 3);
  Return({1, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, kSpare + 1, 4}));
}

TEST_F(CoreReturningTest, ALateNodeOfAJobThatEndsHearsWhy) {
  RunWithSpares({});
  Lose(2, 2);
  Come(3, 2, 1, false);
  EXPECT_THAT(std::string(Refusal(3, 0).message()), HasSubstr("rank 1"));
}

}  // namespace
}  // namespace phalanx::control
