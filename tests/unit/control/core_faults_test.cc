// Faults that the coordinator's core has others suffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint_wire/codec.h"
#include "core_recovery_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class CoreFaultsTest : public CoreRecoveryFixture {
 protected:
  void Begin(const std::string& faults, const std::vector<uint64_t>& spares) {
    CoordinatorSettings settings = SettingsOf(std::nullopt);
    settings.faults = *faults::ParseFaults(faults);
    core_.emplace(settings, kStart);
    RunWithSpares(spares);
  }
  static message::Suffer Suffer(const std::string& fault, uint64_t incarnation) {
    return {fault, Incarnation{incarnation}};
  }
  // What the launcher is told of.
  std::vector<std::string> LinkFaults() const {
    std::vector<std::string> faults;
    for (const CoordinatorOutput& output : outputs_) {
      if (const auto* due = std::get_if<LinkFaultDue>(&output)) faults.push_back(due->fault);
    }
    return faults;
  }
};

TEST_F(CoreFaultsTest, ARankASpareAndANodeAtATime) {
  Begin("kill rank=1 at=time:1s;stop spare=1 at=time:1s for=2s;kill node=0 at=time:2s", {1, 2});
  Step(Tick{}, seconds(1));
  EXPECT_THAT(Sent<message::Suffer>(),
              ElementsAre(Pair(2, Suffer("kill rank=1 at=time:1s", 2)),
                          Pair(2, Suffer("stop spare=1 at=time:1s for=2s", kSpare + 1))));
  EXPECT_THAT(record_->view.performed_faults, ElementsAre(0, 1));
  Step(Tick{}, seconds(2));
  EXPECT_THAT(Sent<message::Suffer>(), ElementsAre(Pair(1, Suffer("kill node=0 at=time:2s", 0))));
  Step(Tick{}, seconds(3));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty()) << "each happens once";
}

TEST_F(CoreFaultsTest, ATimeWaitsUntilAllRanksAreInRun) {
  CoordinatorSettings settings = SettingsOf(std::nullopt);
  settings.faults = *faults::ParseFaults("kill rank=1 at=time:1s");
  core_.emplace(settings, kStart);
  Run4();
  Step(Tick{}, seconds(2));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
  for (uint64_t incarnation = 1; incarnation <= 4; ++incarnation) {
    Say(AgentOf(incarnation), message::Recoverable{Incarnation{incarnation}});
  }
  Step(Tick{}, seconds(3));
  EXPECT_EQ(Sent<message::Suffer>().size(), 1u);
}

TEST_F(CoreFaultsTest, IsInTheRecordBeforeItIsOrdered) {
  Begin("kill rank=1 at=time:1s", {1});
  writes_at_once_ = false;
  Step(Tick{}, seconds(1));
  ASSERT_NE(Written(), nullptr);
  EXPECT_THAT(Written()->record.view.performed_faults, ElementsAre(0));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
  Step(RecordWritten{});
  EXPECT_EQ(Sent<message::Suffer>().size(), 1u);
}

TEST_F(CoreFaultsTest, WhoIsntThereSuffersNothingWhichIsSaid) {
  Begin("kill spare=2 at=time:1s", {1});
  Step(Tick{}, seconds(1));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
  EXPECT_THAT(Logged(), HasSubstr("nobody is there to suffer the fault 'kill spare=2 at=time:1s'"));
}

TEST_F(CoreFaultsTest, AFlipIsOfTheCopyThatIsAskedFor) {
  Begin("kill rank=3 at=step:9;flip rank=1 at=point:revoked;flip rank=2 at=point:revoked copy=1",
        {1});
  Lose(2, 4);
  // These agents are on one machine, so there is no second copy.
  EXPECT_THAT(Sent<message::Suffer>(),
              ElementsAre(Pair(2, Suffer("flip rank=1 at=point:revoked", 0))));
  EXPECT_THAT(Logged(), HasSubstr("nobody is there to suffer the fault 'flip rank=2"));
}

TEST_F(CoreFaultsTest, AFlipAtAStepIsOrderedOnceTheRankHasComeThere) {
  Begin("flip rank=1 at=step:9", {1});
  Say(2, message::FaultPerformed{0, 0});
  EXPECT_THAT(Sent<message::Suffer>(), ElementsAre(Pair(2, Suffer("flip rank=1 at=step:9", 0))));
  Say(2, message::FaultPerformed{0, 0});
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
}

TEST_F(CoreFaultsTest, TheLauncherIsToldWhatTheNetworkSuffers) {
  Begin("cut link=0-1 at=time:1s for=2s;cut node=1 at=time:1s", {1});
  writes_at_once_ = false;
  Step(Tick{}, seconds(1));
  EXPECT_THAT(LinkFaults(), IsEmpty()) << "it isn't in the record yet";
  EXPECT_THAT(Written()->record.view.performed_faults, ElementsAre(0, 1));
  Step(RecordWritten{});
  EXPECT_THAT(LinkFaults(), ElementsAre("cut link=0-1 at=time:1s for=2s", "cut node=1 at=time:1s"));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
  Step(Tick{}, seconds(2));
  EXPECT_THAT(LinkFaults(), IsEmpty()) << "each happens once";
}

TEST_F(CoreFaultsTest, TheNetworksStepIsSaidByARank) {
  Begin("cut link=0>1 at=step:9", {1});
  Say(1, message::FaultPerformed{0, 0});
  EXPECT_THAT(LinkFaults(), ElementsAre("cut link=0>1 at=step:9"));
  Say(1, message::FaultPerformed{0, 0});
  EXPECT_THAT(LinkFaults(), IsEmpty());
}

TEST_F(CoreFaultsTest, WhatACoordinatorDoesntLiveToOrderTheNextOneDoes) {
  Begin("kill rank=1 at=time:1s;kill coordinator at=time:1s", {1});
  Step(Tick{}, seconds(1));
  EXPECT_THAT(Sent<message::Suffer>(), IsEmpty());
  EXPECT_THAT(record_->view.performed_faults, ElementsAre(1));
}

}  // namespace
}  // namespace phalanx::control
