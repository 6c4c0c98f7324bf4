// The coordinator's core and the job's record: what is durable before it is said, and how another
// coordinator goes on from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint_wire/codec.h"
#include "control_coordinator/core.h"
#include "core_recovery_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CoreRecordTest : public CoreRecoveryFixture {
 protected:
  // Another coordinator takes the place of this one, with what was written last.
  void Replace() {
    ASSERT_TRUE(record_.has_value());
    core_.emplace(SettingsOf(record_), now_);
  }
  void ComeBack(uint64_t agent, int node, int spares = 0, Clock::duration at = {}) {
    message::AgentHello hello;
    hello.job = "job";
    hello.node = node;
    hello.node_name = "host" + std::to_string(agent);
    hello.cores = 4;
    hello.spares = spares;
    hello.returns = true;
    Say(agent, hello, at);
  }
  // All ranks of the first view come to step 5.
  void BeginFirstVersion() {
    const checkpoint::Term term{1, 1};
    Save(1, checkpoint::Inventory{term, 0, {}, {}});
    Save(2, checkpoint::Inventory{term, 0, {}, {}});
    for (int rank = 0; rank < 4; ++rank) {
      Save(rank % 2 == 0 ? 1 : 2,
           checkpoint::FetchEnded{
               rank, checkpoint::kInitialVersion, {}, checkpoint::LoadResult::kLoaded, 0});
    }
    Save(1, checkpoint::Wants{0, kName});
  }
  void StoreFirstVersion() {
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(Written(), nullptr);
      Save(rank % 2 == 0 ? 1 : 2, checkpoint::Stored{0, {kName, rank, {1, 2}}});
    }
  }
  void SaveFirstVersion() {
    BeginFirstVersion();
    StoreFirstVersion();
  }
  void Save(uint64_t agent, const checkpoint::Message& message) {
    Say(agent, message::Checkpoint{checkpoint::Encode(message), 0});
  }
  int Killed() const {
    return static_cast<int>(
        std::count_if(outputs_.begin(), outputs_.end(), [](const CoordinatorOutput& output) {
          return std::holds_alternative<KillCoordinator>(output);
        }));
  }

  const checkpoint::VersionName kName{5, 1};
};

TEST_F(CoreRecordTest, NobodyHearsOfAViewBeforeItIsDurable) {
  writes_at_once_ = false;
  Run4();
  ASSERT_NE(Written(), nullptr);
  EXPECT_EQ(Written()->record.view.epoch, Epoch{1});
  EXPECT_THAT(Sent<message::View>(), IsEmpty());
  // What comes in meanwhile waits.
  Lose(2, 2);
  EXPECT_THAT(outputs_, IsEmpty());
  Step(Tick{}, std::chrono::seconds(30));
  EXPECT_THAT(outputs_, IsEmpty());
  EXPECT_EQ(heartbeats_.size(), 2u);
  Step(RecordWritten{});
  EXPECT_EQ(Sent<message::View>().size(), 2u);
  EXPECT_EQ(Sent<message::Revoked>().size(), 2u);
}

TEST_F(CoreRecordTest, NobodyHearsThatAllHaveFinishedBeforeItIsDurable) {
  RunWithSpares({});
  writes_at_once_ = false;
  SayFinished({1, 2, 3, 4});
  ASSERT_NE(Written(), nullptr);
  EXPECT_TRUE(Written()->record.finished);
  EXPECT_THAT(Sent<message::AllFinished>(), IsEmpty());
  Step(RecordWritten{});
  EXPECT_EQ(Sent<message::AllFinished>().size(), 2u);
}

TEST_F(CoreRecordTest, APerformedFaultIsWritten) {
  RunWithSpares({});
  Say(1, message::FaultPerformed{3});
  ASSERT_TRUE(record_.has_value());
  EXPECT_THAT(record_->view.performed_faults, ElementsAre(3));
}

TEST_F(CoreRecordTest, TheNextCoordinatorGoesOnWithTheSameMembersInTheNextEpoch) {
  RunWithSpares({});
  Replace();
  ComeBack(7, 0);
  EXPECT_THAT(Logged(), HasSubstr("the coordinator is back, with the record of epoch 1"));
  EXPECT_EQ(Sent<message::AgentWelcome>().size(), 1u);
  ComeBack(8, 1);
  Say(7, Back(1));
  Say(8, Back(2));
  Say(7, Back(3));
  EXPECT_THAT(outputs_, IsEmpty());
  Say(8, Back(4), milliseconds(40));
  const message::View view = ViewSentTo({7, 8});
  EXPECT_EQ(view.epoch, Epoch{2});
  EXPECT_EQ(view.job_token, 42u);
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_THAT(Logged(), HasSubstr("epoch 2 begins, 40.0 ms after the coordinator was back"));
}

TEST_F(CoreRecordTest, WhoWasLostMeanwhileIsReplaced) {
  RunWithSpares({1});
  Replace();
  ComeBack(7, 0, /*spares=*/1);
  Say(7, Spare(kSpare));
  ComeBack(8, 1);
  Say(8, message::MemberLost{Incarnation{4}, "died"});
  Say(7, Back(1));
  Say(8, Back(2));
  Say(7, Back(3));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({7, 8})), (std::vector<uint64_t>{1, 2, 3, kSpare}));
}

TEST_F(CoreRecordTest, ANodeThatDoesntComeBackIsLost) {
  RunWithSpares({1, 1});
  Replace();
  ComeBack(7, 0, /*spares=*/2);
  Say(7, Spare(kSpare));
  Say(7, Spare(kSpare + 1));
  Say(7, Back(1));
  Say(7, Back(3));
  Step(Tick{}, seconds(9));
  EXPECT_THAT(outputs_, IsEmpty());
  Step(Tick{}, seconds(10));
  EXPECT_THAT(Logged(),
              HasSubstr("rank 1 (pid 102 on node 1) was lost: its agent didn't come back"));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({7})), (std::vector<uint64_t>{1, kSpare, 3, kSpare + 1}));
  EXPECT_EQ(record_->evicted_nodes, std::set<int>{1});
  // Its agent finds the job gone on.
  ComeBack(8, 1);
  ASSERT_EQ(Sent<message::Refused>().size(), 1u);
  EXPECT_TRUE(Sent<message::Refused>()[0].second.evicted);
  EXPECT_THAT(std::string(Sent<message::Refused>()[0].second.status.message()),
              HasSubstr("the job goes on without it"));
  EXPECT_THAT(Closed(), ElementsAre(8));
}

// A node that comes with spares when the view has begun.
TEST_F(CoreRecordTest, ALateNodeIsAdmittedOnceItIsInTheRecord) {
  RunWithSpares({});
  writes_at_once_ = false;
  ComeBack(3, 2, /*spares=*/1);
  ASSERT_NE(Written(), nullptr);
  EXPECT_EQ(Written()->record.late_nodes, std::set<int>{2});
  EXPECT_THAT(Sent<message::AgentWelcome>(), IsEmpty());
  Step(RecordWritten{});
  ASSERT_EQ(Sent<message::AgentWelcome>().size(), 1u);
  EXPECT_EQ(Sent<message::AgentWelcome>()[0].first, 3u);
}

TEST_F(CoreRecordTest, ALateNodeIsWaitedForWithItsSpares) {
  RunWithSpares({});
  ComeBack(3, 2, /*spares=*/1);
  Replace();
  ComeBack(7, 0);
  ComeBack(8, 1);
  for (const int rank : {1, 3}) Say(7, Back(rank));
  Say(8, Back(2));
  Say(8, message::MemberLost{Incarnation{4}, "was killed", false});
  EXPECT_THAT(Logged(), Not(HasSubstr("the job can't go on")));
  ComeBack(9, 2, /*spares=*/1);
  Say(9, Spare(kSpare));
  EXPECT_EQ(IncarnationsOf(ViewSentTo({7, 8, 9})), (std::vector<uint64_t>{1, 2, 3, kSpare}));
  // From the next view on it is in the view.
  EXPECT_THAT(record_->late_nodes, IsEmpty());
}

TEST_F(CoreRecordTest, AViewThatWasWrittenAndNotAnnouncedTakesItsEpochWithIt) {
  RunWithSpares({2});
  Lose(2, 2);
  Return({1, 3});
  writes_at_once_ = false;
  Return({4});
  ASSERT_NE(Written(), nullptr);
  record_ = Written()->record;
  writes_at_once_ = true;
  Replace();
  ComeBack(7, 0);
  ComeBack(8, 1, /*spares=*/1);
  Say(7, Back(1));
  Say(7, Back(3));
  Say(8, Back(4));
  // It never heard that it is a member.
  Say(8, Spare(kSpare));
  const message::View view = ViewSentTo({7, 8});
  EXPECT_EQ(view.epoch, Epoch{3});
  EXPECT_EQ(IncarnationsOf(view), (std::vector<uint64_t>{1, kSpare, 3, 4}));
}

TEST_F(CoreRecordTest, AfterTheEndItOnlyWaitsForAllToLeave) {
  RunWithSpares({1});
  SayFinished({1, 2, 3, 4});
  Replace();
  for (const uint64_t agent : {7u, 8u}) {
    ComeBack(agent, static_cast<int>(agent) - 7);
    EXPECT_EQ(Sent<message::AllFinished>().size(), 1u);
  }
  // This one's view was revoked before the word came.
  Say(8, Back(2));
  EXPECT_EQ(Sent<message::AllFinished>().size(), 1u);
  for (const uint64_t incarnation : {1u, 2u, 3u, 4u}) {
    EXPECT_EQ(Over(), nullptr);
    Say(incarnation % 2 == 1 ? 7 : 8, message::Leave{Incarnation{incarnation}});
  }
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, absl::OkStatus());
}

TEST_F(CoreRecordTest, ACommittedVersionIsDurableBeforeAnybodyFreesTheOneBefore) {
  RunWithSpares({});
  BeginFirstVersion();
  writes_at_once_ = false;
  StoreFirstVersion();
  ASSERT_NE(Written(), nullptr);
  ASSERT_EQ(Written()->record.checkpoints.kept.size(), 1u);
  EXPECT_EQ(Written()->record.checkpoints.kept[0].name, kName);
  EXPECT_THAT(Sent<message::Checkpoint>(), IsEmpty());
  Step(RecordWritten{});
  EXPECT_EQ(Sent<message::Checkpoint>().size(), 2u);
}

// The third of the job's faults; the others are other processes'.
TEST_F(CoreRecordTest, AFaultOfItsOwnIsWrittenBeforeItDiesOfItAndTheCommitIsNot) {
  CoordinatorSettings settings = SettingsOf(std::nullopt);
  settings.faults = *faults::ParseFaults(
      "kill rank=1 at=step:3;kill rank=2 at=point:stored;kill coordinator at=point:stored");
  core_.emplace(settings, kStart);
  RunWithSpares({});
  SaveFirstVersion();
  EXPECT_EQ(Killed(), 1);
  EXPECT_THAT(record_->view.performed_faults, ElementsAre(2));
  EXPECT_THAT(record_->checkpoints.kept, IsEmpty());
  EXPECT_THAT(Sent<message::Checkpoint>(), IsEmpty());
  settings.record = record_;
  core_.emplace(settings, now_);
  ComeBack(7, 0);
  ComeBack(8, 1);
  for (const uint64_t incarnation : {1u, 2u, 3u, 4u}) {
    Say(incarnation % 2 == 1 ? 7 : 8, Back(incarnation));
  }
  EXPECT_EQ(ViewSentTo({7, 8}).performed_faults, (std::vector<uint32_t>{2}));
  EXPECT_EQ(Killed(), 0);
}

TEST_F(CoreRecordTest, AFaultAtATimeWaitsForTheFirstView) {
  CoordinatorSettings settings = SettingsOf(std::nullopt);
  settings.faults = *faults::ParseFaults("kill coordinator at=time:2s");
  core_.emplace(settings, kStart);
  Step(Tick{}, seconds(3));
  EXPECT_EQ(Killed(), 0);
  RunWithSpares({});
  Step(Tick{}, seconds(3));
  EXPECT_EQ(Killed(), 1);
  EXPECT_THAT(record_->view.performed_faults, ElementsAre(0));
}

}  // namespace
}  // namespace phalanx::control
