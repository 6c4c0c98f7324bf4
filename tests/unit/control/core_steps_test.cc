// The coordinator's core with a job that heals live.
#include <gmock/gmock.h>

#include <set>

#include "checkpoint_wire/codec.h"
#include "core_recovery_fixture.h"

namespace phalanx::control {
namespace {

using ::testing::HasSubstr;

class CoreStepsTest : public CoreRecoveryFixture {
 protected:
  static message::Join Live(message::Join join) {
    join.settings.live = true;
    return join;
  }
  // Four ranks at two agents that can take part in another view, and a spare at the first.
  void RunLive() {
    Hello(1);
    Hello(2);
    for (int rank = 0; rank < 4; ++rank) {
      const auto incarnation = static_cast<uint64_t>(rank + 1);
      Say(AgentOf(incarnation), Live(Join(rank, 4, incarnation)));
    }
    for (uint64_t incarnation = 1; incarnation <= 4; ++incarnation) {
      Say(AgentOf(incarnation), message::Recoverable{Incarnation{incarnation}});
    }
    Say(1, Live(std::get<message::Join>(Spare(kSpare))));
  }
  // What was said to each incarnation, of this kind.
  template <typename Kind>
  std::map<uint64_t, Kind> Steps() const {
    std::map<uint64_t, Kind> found;
    for (const auto& [agent, steps] : Sent<message::Steps>()) {
      const auto decoded = checkpoint::Decode(steps.payload);
      EXPECT_TRUE(decoded.ok());
      if (const auto* kind = std::get_if<Kind>(&*decoded)) {
        found.emplace(steps.incarnation.value, *kind);
      }
    }
    return found;
  }
  void SayOfSteps(uint64_t incarnation, const checkpoint::Message& message) {
    const uint64_t agent = incarnation == kSpare ? 1 : AgentOf(incarnation);
    Say(agent, message::Steps{Incarnation{incarnation}, checkpoint::Encode(message)});
  }
};

TEST_F(CoreStepsTest, RanksAgreeOnWhetherTheyHealLive) {
  Hello(1);
  Say(1, Live(Join(0, 4, 1)));
  Say(1, Join(1, 4, 2));
  EXPECT_THAT(std::string(Refusal(1, 2).message()), HasSubstr("PHALANX_LIVE"));
}

TEST_F(CoreStepsTest, InTheFirstViewAllRestore) {
  RunLive();
  // Said with the view, before the spare came.
  core_.emplace(SettingsOf(std::nullopt), kStart);
  Hello(1);
  for (int rank = 0; rank < 4; ++rank) Say(1, Live(Join(rank, 4, static_cast<uint64_t>(rank + 1))));
  EXPECT_EQ(Steps<checkpoint::RollBackSteps>().size(), 4u);
}

TEST_F(CoreStepsTest, SurvivorsAreAskedAtTheLossAndTheNewRankCopies) {
  RunLive();
  Lose(1, 3);
  const auto asked = Steps<checkpoint::AskStanding>();
  ASSERT_EQ(asked.size(), 3u);
  const checkpoint::Term term = asked.at(1).term;
  EXPECT_EQ(term.epoch, 2u);
  for (const uint64_t incarnation : {1, 2}) {
    SayOfSteps(incarnation, checkpoint::StepReport{term, 0, true, 5, {}});
  }
  SayOfSteps(4, checkpoint::StepReport{term, 0, true, 4, checkpoint::StepBallot{5, 1}});
  EXPECT_EQ(Steps<checkpoint::Resolve>().at(4).target, 5);
  for (const uint64_t incarnation : {1, 2, 4}) {
    SayOfSteps(incarnation, checkpoint::StepStands{term, 0, 5});
  }
  Return({1, 2, 4});
  EXPECT_EQ(Steps<checkpoint::AskStanding>().count(kSpare), 1u);
  EXPECT_EQ(Steps<checkpoint::CopyRegions>().at(kSpare).from, 0);
  EXPECT_EQ(Steps<checkpoint::ServeRegions>().at(1).to, 2);
  SayOfSteps(kSpare, checkpoint::StepStands{term, 0, 5, 1234});
  EXPECT_EQ(Steps<checkpoint::ResumeSteps>().size(), 4u);
  EXPECT_THAT(Logged(), HasSubstr("recovered live in 0.0 ms: all ranks go on from step 6"));
  EXPECT_THAT(Logged(), HasSubstr("1234 bytes copied to rank 2 from rank 0 in 0.0 ms"));
}

TEST_F(CoreStepsTest, WhenNobodyIsWholeACheckpointIsRestored) {
  RunLive();
  Lose(1, 3);
  const checkpoint::Term term = Steps<checkpoint::AskStanding>().at(1).term;
  std::string logged;
  for (const uint64_t incarnation : {1, 2, 4}) {
    SayOfSteps(incarnation, checkpoint::StepReport{term, 0, false, -1, {}});
    logged += Logged();
  }
  EXPECT_THAT(logged, HasSubstr("can't be healed live"));
  EXPECT_EQ(Steps<checkpoint::RollBackSteps>().size(), 3u);
  Return({1, 2, 4});
  EXPECT_EQ(Steps<checkpoint::RollBackSteps>().count(kSpare), 1u);
}

TEST_F(CoreStepsTest, ACoordinatorThatComesLaterAsksWhenAllNodesAreBack) {
  RunLive();
  const std::optional<JobRecord> record = record_;
  CoordinatorSettings settings = SettingsOf(record);
  settings.claim = 9;
  core_.emplace(settings, kStart);
  message::AgentHello hello;
  hello.job = "job";
  hello.returns = true;
  hello.node = 0;
  Say(1, hello);
  EXPECT_TRUE(Steps<checkpoint::AskStanding>().empty());
  hello.node = 1;
  Say(2, hello);
  const auto asked = Steps<checkpoint::AskStanding>();
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked.at(1).term.epoch, 2u);
}

}  // namespace
}  // namespace phalanx::control
