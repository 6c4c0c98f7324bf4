#include "control_coordinator/core.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core_fixture.h"

namespace phalanx::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using CoreTest = CoreFixture;

TEST_F(CoreTest, AgentsGetTheLowestFreeNode) {
  Hello(7);
  EXPECT_EQ(Sent<message::AgentWelcome>().at(0).second.node, 0);
  Hello(8, 2);
  EXPECT_EQ(Sent<message::AgentWelcome>().at(0).second.node, 2);
  Hello(9);
  EXPECT_EQ(Sent<message::AgentWelcome>().at(0).second.node, 1);
  Hello(10, 2);
  EXPECT_EQ(Refusal(10, 0), absl::InvalidArgumentError("node 2 is already taken by 'host8'"));
  EXPECT_EQ(Closed(), std::vector<uint64_t>{10});
}

TEST_F(CoreTest, HelloOfAnotherVersionOrJobIsRefused) {
  message::AgentHello hello;
  hello.job = "job";
  hello.node_name = "old";
  hello.version = kProtocolVersion + 1;
  Say(1, hello);
  EXPECT_EQ(Refusal(1, 0).code(), absl::StatusCode::kInvalidArgument);
  hello.version = kProtocolVersion;
  hello.job = "other";
  Say(2, hello);
  EXPECT_EQ(Refusal(2, 0), absl::InvalidArgumentError("this is job job, not other"));
}

TEST_F(CoreTest, WhoSaysNoHelloIsDropped) {
  Say(1, Join(0, 1, 1));
  EXPECT_EQ(Closed(), std::vector<uint64_t>{1});
  EXPECT_TRUE(Sent<message::View>().empty());
}

TEST_F(CoreTest, TheViewGoesToAllAgents) {
  Run4();
  const auto views = Sent<message::View>();
  ASSERT_EQ(views.size(), 2U);
  const message::View& view = views[0].second;
  EXPECT_EQ(view, views[1].second);
  EXPECT_EQ(view.epoch, Epoch{1});
  EXPECT_EQ(view.job_token, 42U);
  EXPECT_EQ(view.node_cores, (std::vector<int>{4, 4}));
  ASSERT_EQ(view.members.size(), 4U);
  for (int rank = 0; rank < 4; ++rank) {
    const message::Member& member = view.members[static_cast<size_t>(rank)];
    EXPECT_EQ(member.rank, rank);
    EXPECT_EQ(member.node, rank % 2);
    EXPECT_EQ(member.pid, 101 + rank);
  }
}

TEST_F(CoreTest, ProgressIsToldWhenItChangesAndEverySecond) {
  Hello(1);
  Say(1, Join(3, 4, 1));
  ASSERT_EQ(Sent<message::Progress>().size(), 1U);
  EXPECT_EQ(Sent<message::Progress>()[0].second.line,
            "1 of 4 ranks joined, waiting for ranks 0 to 2");
  Say(1, Join(-1, 4, 2), milliseconds(10));
  EXPECT_TRUE(Sent<message::Progress>().empty());  // too soon after the last
  Step(Tick{}, milliseconds(100));
  ASSERT_EQ(Sent<message::Progress>().size(), 1U);
  EXPECT_EQ(Sent<message::Progress>()[0].second.line, "2 of 4 ranks joined, waiting for 2 more");
  Step(Tick{}, milliseconds(900));
  EXPECT_TRUE(Sent<message::Progress>().empty());
  Step(Tick{}, milliseconds(1100));
  EXPECT_EQ(Sent<message::Progress>().size(), 1U);
}

TEST_F(CoreTest, LongListsOfRanksAreCutShort) {
  Hello(1);
  for (int rank = 1; rank < 40; rank += 2) {
    Say(1, Join(rank, 41, static_cast<uint64_t>(rank)), seconds(rank));
  }
  ASSERT_EQ(Sent<message::Progress>().size(), 1U);
  EXPECT_EQ(Sent<message::Progress>()[0].second.line,
            "20 of 41 ranks joined, waiting for ranks 0, 2, 4, 6, 8, 10, 12, 14, more");
}

TEST_F(CoreTest, ARankOutsideTheWorldIsRefused) {
  Hello(1);
  Say(1, Join(4, 4, 1));
  EXPECT_EQ(Refusal(1, 1), absl::InvalidArgumentError("rank 4 is not below the world size 4"));
  Say(1, Join(0, 0, 2));
  EXPECT_EQ(Refusal(1, 2).code(), absl::StatusCode::kInvalidArgument);
  Say(1, Join(0, kMaxWorldSize + 1, 3));
  EXPECT_EQ(Refusal(1, 3).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CoreTest, ATakenRankNamesItsHolder) {
  Hello(1);
  Say(1, Join(2, 4, 1));
  Say(1, Join(2, 4, 2));
  EXPECT_EQ(Refusal(1, 2), absl::InvalidArgumentError(
                               "rank 2 is already taken by pid 101 on node 0 'host1'; give every "
                               "process a rank of its own"));
  // The same after the view has begun.
  Say(1, Join(0, 4, 3));
  Say(1, Join(1, 4, 4));
  Say(1, Join(3, 4, 5));
  ASSERT_EQ(Sent<message::View>().size(), 1U);
  Say(1, Join(2, 4, 6));
  EXPECT_EQ(Refusal(1, 6).code(), absl::StatusCode::kInvalidArgument);
  Say(1, Join(-1, 4, 7));
  EXPECT_EQ(Refusal(1, 7), absl::InvalidArgumentError("all 4 ranks are taken"));
}

TEST_F(CoreTest, AnotherWorldSizeIsRefused) {
  Hello(1);
  Say(1, Join(0, 4, 1));
  Say(1, Join(1, 5, 2));
  EXPECT_EQ(Refusal(1, 2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Refusal(1, 2).message().find("those who joined before say 4"), absl::string_view::npos);
}

TEST_F(CoreTest, OtherSettingsOfOrderAreRefused) {
  Hello(1);
  Hello(2);
  message::Join join = Join(2, 4, 1);
  join.settings.ordering = OrderingMode::kAdaptive;
  join.settings.device_slots = 2;
  Say(1, join);
  join = Join(1, 4, 2);
  join.settings.ordering = OrderingMode::kStrict;
  join.settings.device_slots = 2;
  Say(2, join);
  EXPECT_EQ(Refusal(2, 2), absl::InvalidArgumentError(
                               "rank 1 has PHALANX_ORDERING=strict, but rank 2 (pid 101 on node 0 "
                               "'host1') has PHALANX_ORDERING=adaptive; set PHALANX_ORDERING to "
                               "the same value on all ranks"));
  join = Join(-1, 4, 3);
  join.settings.ordering = OrderingMode::kAdaptive;
  Say(2, join);
  EXPECT_EQ(Refusal(2, 3), absl::InvalidArgumentError(
                               "pid 103 has PHALANX_DEVICE_SLOTS=0, but rank 2 (pid 101 on node 0 "
                               "'host1') has PHALANX_DEVICE_SLOTS=2; set PHALANX_DEVICE_SLOTS to "
                               "the same value on all ranks"));
  const auto with_stall = [](uint32_t timeout_ms, StallAction action) {
    message::Join with = Join(-1, 4, 3);
    with.settings.ordering = OrderingMode::kAdaptive;
    with.settings.device_slots = 2;
    with.settings.stall_timeout_ms = timeout_ms;
    with.settings.stall_action = action;
    return with;
  };
  Say(2, with_stall(250, StallAction::kAbort));
  EXPECT_NE(Refusal(2, 3).message().find("pid 103 has PHALANX_STALL_TIMEOUT=0.25, but rank 2"),
            absl::string_view::npos);
  Say(2, with_stall(kDefaultStallTimeoutMs, StallAction::kWarn));
  EXPECT_NE(Refusal(2, 3).message().find("pid 103 has PHALANX_STALL_ACTION=warn, but rank 2"),
            absl::string_view::npos);
  message::Join fuses = with_stall(kDefaultStallTimeoutMs, StallAction::kAbort);
  fuses.settings.fusion_threshold = 4096;
  Say(2, fuses);
  EXPECT_NE(Refusal(2, 3).message().find("pid 103 has PHALANX_FUSION_THRESHOLD=4096, but rank 2"),
            absl::string_view::npos);
  message::Join suspects = with_stall(kDefaultStallTimeoutMs, StallAction::kAbort);
  suspects.settings.suspect_after_ms = 900;
  Say(2, suspects);
  EXPECT_NE(Refusal(2, 3).message().find("pid 103 has PHALANX_SUSPECT_AFTER_MS=900, but rank 2"),
            absl::string_view::npos);
  // Those who agree go on, and the view says what they agree on.
  for (const uint64_t incarnation : {4U, 5U, 6U}) {
    join = Join(-1, 4, incarnation);
    join.settings.ordering = OrderingMode::kAdaptive;
    join.settings.device_slots = 2;
    Say(2, join);
  }
  ASSERT_EQ(Sent<message::View>().size(), 2U);
  EXPECT_EQ(Sent<message::View>()[0].second.settings.ordering, OrderingMode::kAdaptive);
  EXPECT_EQ(Sent<message::View>()[0].second.settings.device_slots, 2);
}

TEST_F(CoreTest, TellsWhoAsksOfAJobThatIsJoining) {
  Hello(1);
  Say(1, Join(1, 3, 1));
  Say(1, message::AskStatus{kProtocolVersion, 7, 1000});
  ASSERT_EQ(Sent<message::JobStatus>().size(), 1U);
  const message::JobStatus status = Sent<message::JobStatus>()[0].second;
  EXPECT_EQ(status.question, 7U);
  EXPECT_NE(status.json.find(R"("phase":"joining")"), std::string::npos) << status.json;
  EXPECT_NE(status.json.find(R"({"rank":0,"state":"awaited"})"), std::string::npos) << status.json;
  EXPECT_NE(status.json.find(R"({"node":0,"pid":101,"rank":1,"state":"joining"})"),
            std::string::npos)
      << status.json;
  EXPECT_TRUE(Closed().empty());
}

TEST_F(CoreTest, OneThatOnlyAsksIsLetGo) {
  Say(9, message::AskStatus{kProtocolVersion + 1, 1, 1000});
  ASSERT_EQ(Sent<message::JobStatus>().size(), 1U);
  EXPECT_EQ(Sent<message::JobStatus>()[0].second.json.rfind(R"({"error":"the command speaks)", 0),
            0U);
  EXPECT_EQ(Closed(), std::vector<uint64_t>{9});
}

TEST_F(CoreTest, WaitsForRanksAsLongAsItIsAsked) {
  Hello(1);
  for (const int rank : {0, 1}) {
    message::Join join = Join(rank, 2, static_cast<uint64_t>(rank + 1));
    join.settings.ordering = OrderingMode::kStrict;
    Say(1, join);
  }
  Say(1, message::AskStatus{kProtocolVersion, 1, 2000}, seconds(1));
  EXPECT_EQ(Sent<message::Ordering>().size(), 1U);  // asks the node's ranks
  EXPECT_TRUE(Sent<message::JobStatus>().empty());
  Step(Tick{}, milliseconds(2900));
  EXPECT_TRUE(Sent<message::JobStatus>().empty());
  Step(Tick{}, milliseconds(3000));
  ASSERT_EQ(Sent<message::JobStatus>().size(), 1U);
  EXPECT_NE(Sent<message::JobStatus>()[0].second.json.find(R"("answered":false)"),
            std::string::npos);
  // One that goes while it waits is forgotten, and what ends the job answers the others.
  Say(1, message::AskStatus{kProtocolVersion, 2, 2000}, seconds(4));
  Say(9, message::AskStatus{kProtocolVersion, 3, 2000}, seconds(4));
  Step(AgentLost{AgentId{9}, "gone"}, seconds(4));
  Say(1, message::Leave{Incarnation{1}}, seconds(4));
  Say(1, message::Leave{Incarnation{2}}, seconds(4));
  ASSERT_EQ(Sent<message::JobStatus>().size(), 1U);
  EXPECT_EQ(Sent<message::JobStatus>()[0].second.json, R"({"error":"the job is over"})");
}

TEST_F(CoreTest, TheJoinDeadlineRunsFromTheFirstMember) {
  Hello(1);
  Say(1, Join(0, 3, 1), seconds(50));
  Step(Tick{}, seconds(61));
  EXPECT_EQ(Over(), nullptr);
  Step(Tick{}, seconds(110));
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status.code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(Sent<message::Revoked>().size(), 1U);
  EXPECT_EQ(Sent<message::Revoked>()[0].second.epoch, Epoch{0});
  EXPECT_EQ(Sent<message::Revoked>()[0].second.reason, Over()->status);
  // Nothing comes after the end.
  Say(1, Join(1, 3, 2), seconds(111));
  EXPECT_TRUE(outputs_.empty());
}

TEST_F(CoreTest, NobodyJoins) {
  Step(Tick{}, seconds(59));
  EXPECT_EQ(Over(), nullptr);
  Step(Tick{}, seconds(60));
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, absl::DeadlineExceededError("nobody joined within 60 s"));
}

TEST_F(CoreTest, TheCreatorMattersOnlyUntilSomebodyHasJoined) {
  Hello(1);
  Say(1, Join(0, 2, 1));
  Step(CreatorGone{});
  EXPECT_EQ(Over(), nullptr);
  CoordinatorCore other({"job", 42, seconds(60)}, kStart);
  outputs_ = other.Step(CreatorGone{}, kStart);
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoreTest, AMemberLostBeforeTheViewFailsTheJob) {
  Hello(1);
  Say(1, Join(0, 3, 1));
  Say(1, Join(1, 3, 2));
  Say(1, message::MemberLost{Incarnation{2}, "exited with code 3"});
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status,
            absl::UnavailableError("rank 1 (pid 102 on node 0 'host1') exited with code 3 before "
                                   "all ranks had joined"));
}

TEST_F(CoreTest, AMemberLostInTheViewRevokesIt) {
  Run4();
  Say(1, message::MemberLost{Incarnation{3}, "was killed by signal 9 (SIGKILL)"});
  const absl::Status reason =
      absl::UnavailableError("rank 2 (pid 103 on node 0 'host1') was killed by signal 9 (SIGKILL)");
  const auto revoked = Sent<message::Revoked>();
  ASSERT_EQ(revoked.size(), 2U);
  EXPECT_EQ(revoked[0].second, (message::Revoked{Epoch{1}, reason}));
  EXPECT_EQ(revoked[1].second, revoked[0].second);
  EXPECT_EQ(Over(), nullptr);
  // It ends with the last of the others, however they go, and says nothing more to anybody.
  Say(1, message::Leave{Incarnation{1}});
  EXPECT_TRUE(outputs_.empty());
  Say(2, message::MemberLost{Incarnation{2}, "died"});
  EXPECT_TRUE(outputs_.empty());
  Step(AgentLost{AgentId{2}, "reset"});
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, reason);
}

TEST_F(CoreTest, ALostAgentTakesItsMembers) {
  Run4();
  Step(AgentLost{AgentId{2}, "reset"});
  const auto revoked = Sent<message::Revoked>();
  ASSERT_FALSE(revoked.empty());
  EXPECT_EQ(revoked[0].second.reason.message(),
            "rank 1 (pid 102 on node 1 'host2') was lost with its agent (reset)");
}

TEST_F(CoreTest, EveryLeaveCompletesWhenAllHaveLeft) {
  Run4();
  for (uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    Say(incarnation % 2 == 1 ? 1 : 2, message::Leave{Incarnation{incarnation}});
    EXPECT_TRUE(outputs_.empty());
  }
  // One that has left may go before the others.
  Say(1, message::MemberLost{Incarnation{1}, "exited with code 0"});
  EXPECT_TRUE(outputs_.empty());
  Say(2, message::Leave{Incarnation{4}});
  EXPECT_EQ(Sent<message::AllLeft>().size(), 2U);
  EXPECT_EQ(Closed(), (std::vector<uint64_t>{1, 2}));
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status, absl::OkStatus());
}

TEST_F(CoreTest, ALossWhileOthersHaveLeftRevokes) {
  Run4();
  for (const uint64_t incarnation : {1U, 3U}) Say(1, message::Leave{Incarnation{incarnation}});
  Say(2, message::Leave{Incarnation{2}});
  Say(2, message::MemberLost{Incarnation{4}, "died"});
  EXPECT_EQ(Sent<message::Revoked>().size(), 2U);
  ASSERT_NE(Over(), nullptr);
  EXPECT_EQ(Over()->status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoreTest, AnAgentSpeaksForItsOwnMembersOnly) {
  Run4();
  Say(2, message::MemberLost{Incarnation{1}, "died"});
  EXPECT_TRUE(outputs_.empty());
  Say(2, message::Leave{Incarnation{1}});
  EXPECT_TRUE(outputs_.empty());
  Say(1, message::MemberLost{Incarnation{1}, "died"});
  EXPECT_EQ(Sent<message::Revoked>().size(), 2U) << "it was still a member";
}

TEST_F(CoreTest, NoTwoCommunicatorsGetOneNumber) {
  Hello(1);
  Say(1, message::AskCommunicatorIds{Incarnation{1}, 7, 1});
  EXPECT_TRUE(Sent<message::CommunicatorIds>().empty());  // there is no view yet
  Say(1, Join(0, 1, 1));
  const auto first_of = [this](uint64_t request, uint32_t count) {
    Say(1, message::AskCommunicatorIds{Incarnation{1}, request, count});
    const auto sent = Sent<message::CommunicatorIds>();
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].second.incarnation, Incarnation{1});
    EXPECT_EQ(sent[0].second.request, request);
    return sent[0].second.first;
  };
  EXPECT_EQ(first_of(1, 2), 1U);
  EXPECT_EQ(first_of(2, 1), 3U);
  EXPECT_EQ(first_of(3, 4294967295U), 0U);
  EXPECT_EQ(first_of(4, kMaxCommunicators - 4), 4U);
  EXPECT_EQ(first_of(5, 1), 0U);
}

TEST_F(CoreTest, AnAgentThatSpeaksOfOrderWhereThereIsNoneIsDropped) {
  Run4();
  Say(1, message::Ordering{"anything"});
  EXPECT_EQ(Closed(), std::vector<uint64_t>{1});
}

TEST_F(CoreTest, AnAgentWhoseOrderingIsGarbageIsDropped) {
  Hello(1);
  message::Join join = Join(0, 1, 1);
  join.settings.ordering = OrderingMode::kStrict;
  Say(1, message::Ordering{"too early"});
  EXPECT_EQ(Closed(), std::vector<uint64_t>{1});
  Say(1, join);
  ASSERT_EQ(Sent<message::View>().size(), 1U);
  Say(1, message::Ordering{"garbage"});
  EXPECT_EQ(Closed(), std::vector<uint64_t>{1});
  EXPECT_TRUE(Sent<message::Ordering>().empty());
}

TEST_F(CoreTest, NoNodeComesAfterTheBeginning) {
  Run4();
  Hello(3);
  EXPECT_EQ(Refusal(3, 0).code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoreTest, ManyRanksWithoutNames) {
  Hello(1, 1);
  Hello(2, 0);
  for (uint64_t i = 1; i <= 6; ++i) Say(i % 2 + 1, Join(i == 3 ? 0 : -1, 6, i));
  const auto views = Sent<message::View>();
  ASSERT_EQ(views.size(), 2U);
  std::vector<int> nodes;
  for (const message::Member& member : views[0].second.members) nodes.push_back(member.node);
  // Odd ones are on node 0; incarnation 3 had asked for rank 0.
  EXPECT_EQ(nodes, (std::vector<int>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(views[0].second.members[0].incarnation, Incarnation{3});
  EXPECT_EQ(views[0].second.members[1].incarnation, Incarnation{1});
  EXPECT_EQ(views[0].second.members[2].incarnation, Incarnation{5});
}

}  // namespace
}  // namespace phalanx::control
