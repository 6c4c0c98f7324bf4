// The coordinator's core where PHALANX_ON_LOSS says otherwise than by default: who takes the place
// of a lost rank, and when nobody does.
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

class CorePolicyTest : public CoreRecoveryFixture {
 protected:
  // Two nodes with two ranks each that can take part in another view; each may start so many
  // processes. A spare on each of `spares`.
  void RunWith(const std::string& policy, int restarts, const std::vector<uint64_t>& spares) {
    settings_.on_loss = LossPolicy::Parse(policy).value();
    for (const uint64_t agent : {1U, 2U}) {
      message::AgentHello hello;
      hello.job = "job";
      hello.node_name = "host" + std::to_string(agent);
      hello.machine = "one";
      hello.restarts = restarts;
      Say(agent, hello);
    }
    for (uint64_t i = 1; i <= 4; ++i) {
      message::Join join = Join(static_cast<int>(i) - 1, 4, i);
      join.settings = settings_;
      Say(AgentOf(i), join);
    }
    for (uint64_t i = 1; i <= 4; ++i) Say(AgentOf(i), message::Recoverable{Incarnation{i}});
    for (size_t i = 0; i < spares.size(); ++i) SaySpare(spares[i], kSpare + i);
  }
  void SaySpare(uint64_t agent, uint64_t incarnation) {
    message::Join join = Join(-1, 4, incarnation);
    join.spare = true;
    join.settings = settings_;
    Say(agent, join);
  }
  std::vector<uint64_t> Started() const {
    std::vector<uint64_t> agents;
    for (const auto& [agent, start] : Sent<message::StartSpare>()) agents.push_back(agent);
    return agents;
  }

  JobSettings settings_;
};

TEST_F(CorePolicyTest, FailEndsTheJobAlthoughThereAreSpares) {
  RunWith("fail", 1, {1, 2});
  Lose(2, 2);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CorePolicyTest, FailEvictsNobody) {
  RunWith("fail", 1, {1, 2});
  Say(2, message::MemberSilent{Incarnation{2}, "is stopped"});
  EXPECT_THAT(Sent<message::Evict>(), IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("nobody can take its place"));
}

TEST_F(CorePolicyTest, SpareStartsNothing) {
  RunWith("spare", 1, {1});
  Lose(2, 2);
  EXPECT_THAT(Started(), IsEmpty());
  Return({1, 3, 4});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
  Lose(2, 4);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CorePolicyTest, ANewProcessTakesThePlaceAlthoughASpareWaits) {
  RunWith("restart,spare", 1, {2});
  Lose(2, 2);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  EXPECT_TRUE(RevokedForAll({1, 2}).goes_on);
  Return({1, 3, 4});
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  SaySpare(2, 20);
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, 20, 3, 4}));
  Lose(2, 4);  // it has started all that it would
  Return({1, 3});
  Say(2, Back(20));
}

TEST_F(CorePolicyTest, ASpareTakesThePlaceWhereNothingCanBeStarted) {
  RunWith("restart,spare", 1, {1});
  Lose(2, 2);
  Return({1, 3, 4});
  SaySpare(2, 20);
  ASSERT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, 20, 3, 4}));
  Lose(2, 4);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("a spare takes the place of rank 3: pid 111"));
}

TEST_F(CorePolicyTest, ASpareTakesThePlaceOnceTheNewProcessHasEnded) {
  RunWith("restart,spare", 1, {1});
  Lose(2, 2);
  Return({1, 3, 4});
  Say(2, message::SpareGone{"exited with code 3"});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CorePolicyTest, WhereTheNodeIsGoneASpareTakesThePlace) {
  RunWith("restart,spare", 1, {1, 1});
  Step(AgentLost{AgentId{2}, "killed"});
  Return({1, 3});
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1})), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
}

TEST_F(CorePolicyTest, RestartAloneLeavesSparesWhereTheyAre) {
  RunWith("restart", 1, {1, 2});
  Lose(2, 2);
  EXPECT_EQ(Started(), (std::vector<uint64_t>{2}));
  Return({1, 3, 4});
  SaySpare(1, 20);
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  SaySpare(2, 21);
  EXPECT_EQ(IncarnationsOf(ViewSentTo({1, 2})), (std::vector<uint64_t>{1, 21, 3, 4}));
  Lose(2, 4);  // its node has started all that it would
  EXPECT_FALSE(RevokedForAll({1, 2}).goes_on);
}

TEST_F(CorePolicyTest, RestartAloneDoesntSurviveANode) {
  RunWith("restart", 2, {1, 1});
  Step(AgentLost{AgentId{2}, "killed"});
  EXPECT_FALSE(RevokedForAll({1}).goes_on);
}

TEST_F(CorePolicyTest, RestartAloneEvictsOnlyWhereAProcessCanBeStarted) {
  RunWith("restart", 1, {1, 2});
  Say(2, message::MemberSilent{Incarnation{2}, "is stopped"});
  EXPECT_EQ(Sent<message::Evict>().size(), 1U);
  Say(2, message::MemberSilent{Incarnation{4}, "is stopped"});
  EXPECT_THAT(Sent<message::Evict>(), IsEmpty());
  Say(1, message::MemberSilent{Incarnation{1}, "is stopped"});
  EXPECT_EQ(Sent<message::Evict>().size(), 1U);
}

}  // namespace
}  // namespace phalanx::control
