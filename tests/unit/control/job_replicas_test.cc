// The coordinator's part of checkpoints with several copies, with agents played by the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "control_coordinator/job_checkpoints.h"
#include "told.h"

namespace phalanx::control {
namespace {

using checkpoint::AgentId;
using checkpoint::Digest;
using checkpoint::LoadResult;
using checkpoint::Source;
using checkpoint::VersionName;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr AgentId kLeft = 11, kRight = 12, kThird = 13;

// Rank 0 is on the left, rank 1 on the right; each shard's second copy on the agent after.
class JobReplicasTest : public testing::Test {
 protected:
  using Outputs = JobCheckpoints::Outputs;

  static JobCheckpoints::Agent AgentOf(AgentId id, const std::string& machine = "") {
    return {id, "node " + std::to_string(id), machine, {"host" + std::to_string(id), 7}};
  }
  Outputs Say(AgentId agent, const checkpoint::Message& message) {
    Outputs outputs;
    EXPECT_TRUE(checkpoints_.FromAgent(agent, checkpoint::Encode(message), &outputs).ok());
    if (!outputs.writes) return outputs;
    Outputs after = checkpoints_.RecordWritten();
    after.lines.insert(after.lines.begin(), outputs.lines.begin(), outputs.lines.end());
    return after;
  }
  // Begins a view in which each agent holds what is said of it.
  Outputs Begin(uint64_t epoch, const std::vector<JobCheckpoints::Agent>& agents,
                std::map<AgentId, std::vector<checkpoint::ShardItem>> held,
                const std::vector<AgentId>& owners = {kLeft, kRight},
                const ReplicaSettings& replicas = {}) {
    begun_ = checkpoints_.BeginView(Epoch{epoch}, agents, owners, replicas);
    return Answer(begun_, agents, std::move(held));
  }
  Outputs Answer(const Outputs& asked, const std::vector<JobCheckpoints::Agent>& agents,
                 std::map<AgentId, std::vector<checkpoint::ShardItem>> held) {
    const auto asks = Told<checkpoint::Ask>(asked);
    EXPECT_EQ(asks.size(), agents.size());
    Outputs last;
    for (const JobCheckpoints::Agent& agent : agents) {
      last = Say(agent.id, checkpoint::Inventory{asks.at(0).second.term, 0, held[agent.id], {}});
    }
    return last;
  }
  void LoadAll(const Outputs& begun) {
    for (const auto& [agent, fetch] : Told<checkpoint::Fetch>(begun)) {
      Say(agent,
          checkpoint::FetchEnded{fetch.rank, fetch.name, fetch.source, LoadResult::kLoaded, 100});
    }
  }
  void Commit(const VersionName& name, AgentId second_of_1 = kThird) {
    Say(kLeft, checkpoint::Wants{0, name});
    Say(kLeft, checkpoint::Stored{0, {name, 0, kZero}});
    Say(kRight, checkpoint::Stored{0, {name, 0, kZero}});
    Say(kRight, checkpoint::Stored{0, {name, 1, kOne}});
    Say(second_of_1, checkpoint::Stored{0, {name, 1, kOne}});
    EXPECT_EQ(checkpoints_.newest(), name);
  }

  const std::vector<JobCheckpoints::Agent> kThree = {AgentOf(kLeft), AgentOf(kRight),
                                                     AgentOf(kThird)};
  const Digest kZero{1, 2};
  const Digest kOne{3, 4};
  const VersionName kName{5, 1};
  JobCheckpoints checkpoints_;
  Outputs begun_;
};

TEST_F(JobReplicasTest, TheOtherHolderIsToldToCopyAndWithItsCopyTheVersionIsCommitted) {
  LoadAll(Begin(1, kThree, {}));
  EXPECT_THAT(begun_.lines, IsEmpty());
  Say(kLeft, checkpoint::Wants{0, kName});
  const Outputs stored = Say(kLeft, checkpoint::Stored{0, {kName, 0, kZero}});
  const auto copies = Told<checkpoint::Copy>(stored);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].first, kRight);
  EXPECT_EQ(copies[0].second.from, kLeft);
  EXPECT_EQ(copies[0].second.rank, 0);
  EXPECT_EQ(copies[0].second.digest, kZero);
  // First it hears where that one is.
  const auto addresses = Told<checkpoint::PeerAddress>(stored);
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(addresses[0].first, kRight);
  EXPECT_EQ(addresses[0].second.agent, kLeft);
  EXPECT_EQ(addresses[0].second.host, "host11");
  EXPECT_EQ(addresses[0].second.port, 7);
  Say(kRight, checkpoint::CopyEnded{kName, 0, kLeft, LoadResult::kLoaded, 100});
  Say(kRight, checkpoint::Stored{0, {kName, 0, kZero}});
  const auto second = Told<checkpoint::Copy>(Say(kRight, checkpoint::Stored{0, {kName, 1, kOne}}));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].first, kThird);
  EXPECT_EQ(checkpoints_.newest(), checkpoint::kInitialVersion);
  Say(kThird, checkpoint::Stored{0, {kName, 1, kOne}});
  EXPECT_EQ(checkpoints_.newest(), kName);
}

TEST_F(JobReplicasTest, AVersionThatCannotBeCopiedIsGivenUpAndTheNextOneSaved) {
  LoadAll(Begin(1, kThree, {}));
  Say(kLeft, checkpoint::Wants{0, kName});
  Say(kLeft, checkpoint::Stored{0, {kName, 0, kZero}});
  const Outputs failed =
      Say(kRight, checkpoint::CopyEnded{kName, 0, kLeft, LoadResult::kNoAnswer, 0});
  EXPECT_THAT(failed.lines,
              ElementsAre(HasSubstr("rank 0 of version 5 of epoch 1 from node 11 to node 12 "
                                    "failed: no answer"),
                          HasSubstr("isn't saved")));
  Commit({6, 1});
}

TEST_F(JobReplicasTest, AfterANodesLossItsRankIsGivenTheOtherCopyAndMissingOnesAreMadeAgain) {
  LoadAll(Begin(1, kThree, {}));
  Commit(kName);
  checkpoints_.EndView();
  // The left one is gone, its rank on the third.
  const std::vector<JobCheckpoints::Agent> two = {AgentOf(kRight), AgentOf(kThird)};
  const Outputs begun =
      Begin(2, two, {{kRight, {{kName, 0, kZero}, {kName, 1, kOne}}}, {kThird, {{kName, 1, kOne}}}},
            {kThird, kRight});
  const auto copies = Told<checkpoint::Copy>(begun);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].first, kThird);
  EXPECT_EQ(copies[0].second.from, kRight);
  const auto fetches = Told<checkpoint::Fetch>(begun);
  ASSERT_EQ(fetches.size(), 2u);
  EXPECT_EQ(fetches[0].first, kThird);
  EXPECT_EQ(fetches[0].second.source, (Source{Source::Kind::kReplica, kRight}));
  EXPECT_EQ(fetches[1].second.source, (Source{Source::Kind::kLocal, kRight}));
  Say(kThird, checkpoint::CopyEnded{kName, 0, kRight, LoadResult::kLoaded, 100});
  const Outputs healthy = Say(kThird, checkpoint::Stored{0, {kName, 0, kZero}});
  EXPECT_EQ(healthy.healthy_copies, 2);
  EXPECT_EQ(healthy.bytes_copied, 100u);
}

TEST_F(JobReplicasTest, ACopyOfTheCommittedVersionThatFailsIsTriedAgain) {
  LoadAll(Begin(1, kThree, {}));
  Commit(kName);
  const std::vector<JobCheckpoints::Agent> two = {AgentOf(kLeft), AgentOf(kRight)};
  const Outputs begun =
      Answer(checkpoints_.LoseAgent(kThird), two,
             {{kLeft, {{kName, 0, kZero}}}, {kRight, {{kName, 0, kZero}, {kName, 1, kOne}}}});
  EXPECT_EQ(Told<checkpoint::Copy>(begun).size(), 1u);
  EXPECT_THAT(checkpoints_.Again().messages, IsEmpty());
  Say(kLeft, checkpoint::CopyEnded{kName, 1, kRight, LoadResult::kNoAnswer, 0});
  const auto again = Told<checkpoint::Copy>(checkpoints_.Again());
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].first, kLeft);
  EXPECT_EQ(again[0].second.rank, 1);
  EXPECT_THAT(checkpoints_.Again().messages, IsEmpty());
  EXPECT_EQ(Say(kLeft, checkpoint::Stored{0, {kName, 1, kOne}}).healthy_copies, 2);
}

// A rank's answer about what it was told before is on its way then.
TEST_F(JobReplicasTest, WhenAnAgentIsLostInARestoreTheNextOneIsAnother) {
  LoadAll(Begin(1, kThree, {}));
  Commit(kName);
  checkpoints_.EndView();
  const std::vector<checkpoint::ShardItem> both = {{kName, 0, kZero}, {kName, 1, kOne}};
  const auto first =
      Told<checkpoint::Fetch>(Begin(2, kThree, {{kLeft, both}, {kRight, both}, {kThird, both}}));
  const std::vector<JobCheckpoints::Agent> two = {AgentOf(kLeft), AgentOf(kRight)};
  const auto second = Told<checkpoint::Fetch>(
      Answer(checkpoints_.LoseAgent(kThird), two, {{kLeft, both}, {kRight, both}}));
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_GT(second[0].second.round, first[0].second.round);
}

TEST_F(JobReplicasTest, ACorruptCopyIsCountedOnceAndAnotherSourceTaken) {
  LoadAll(Begin(1, kThree, {}, {kLeft, kRight}, {3, true}));
  Say(kLeft, checkpoint::Wants{0, kName});
  for (const AgentId agent : {kLeft, kRight, kThird}) {
    Say(agent, checkpoint::Stored{0, {kName, 0, kZero}});
    Say(agent, checkpoint::Stored{0, {kName, 1, kOne}});
  }
  ASSERT_EQ(checkpoints_.newest(), kName);
  checkpoints_.EndView();
  const std::vector<checkpoint::ShardItem> both = {{kName, 0, kZero}, {kName, 1, kOne}};
  Begin(2, kThree, {{kLeft, {{kName, 1, kOne}}}, {kRight, both}, {kThird, both}}, {kLeft, kRight},
        {3, true});
  const Source right{Source::Kind::kReplica, kRight};
  const Outputs corrupt =
      Say(kLeft, checkpoint::FetchEnded{0, kName, right, LoadResult::kCorrupt, 0});
  EXPECT_THAT(corrupt.lines,
              ElementsAre("a saved copy is corrupt: version 5 of epoch 1, rank 0, on node 12 (1 "
                          "corrupt so far)"));
  const auto fetches = Told<checkpoint::Fetch>(corrupt);
  ASSERT_EQ(fetches.size(), 1u);
  EXPECT_EQ(fetches[0].second.source, (Source{Source::Kind::kReplica, kThird}));
  // Its holder has looked, too: it gets a good one.
  const Outputs bad = Say(kRight, checkpoint::CopyIsBad{kName, 0, 0});
  EXPECT_THAT(bad.lines, IsEmpty());
  const auto copies = Told<checkpoint::Copy>(bad);
  ASSERT_FALSE(copies.empty());
  for (const auto& [to, copy] : copies) EXPECT_EQ(copy.from, kThird);
}

TEST_F(JobReplicasTest, WhenAllCopiesOfAShardAreGoneTheLossNamesIt) {
  LoadAll(Begin(1, kThree, {}));
  Commit(kName);
  checkpoints_.EndView();
  const Outputs begun =
      Begin(2, {AgentOf(kThird)}, {{kThird, {{kName, 1, kOne}}}}, {kThird, kThird});
  EXPECT_EQ(begun.lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(begun.lost.message()), HasSubstr("version 5 of epoch 1"));
  EXPECT_THAT(std::string(begun.lost.message()), HasSubstr("the shard of rank 0"));
  EXPECT_THAT(begun_.lines, ElementsAre(HasSubstr("degraded")));
}

TEST_F(JobReplicasTest, AgentsOfOneMachineHoldNoCopiesForEachOther) {
  const std::vector<JobCheckpoints::Agent> agents = {AgentOf(kLeft, "a"), AgentOf(kRight, "a"),
                                                     AgentOf(kThird, "b")};
  LoadAll(Begin(1, agents, {}));
  Say(kLeft, checkpoint::Wants{0, kName});
  const auto copies = Told<checkpoint::Copy>(Say(kLeft, checkpoint::Stored{0, {kName, 0, kZero}}));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].first, kThird);
}

TEST_F(JobReplicasTest, FewerMachinesThanCopiesIsSaidToWhoAskedOrHadThem) {
  const std::vector<JobCheckpoints::Agent> one = {AgentOf(kLeft)};
  EXPECT_THAT(checkpoints_.BeginView(Epoch{1}, one, {kLeft, kLeft}, {}).lines, IsEmpty());
  EXPECT_THAT(checkpoints_.BeginView(Epoch{2}, one, {kLeft, kLeft}, {3, true}).lines,
              ElementsAre(HasSubstr("there can be 1 copy, not 3")));
  EXPECT_THAT(checkpoints_.BeginView(Epoch{3}, one, {kLeft, kLeft}, {3, true}).lines, IsEmpty());
  EXPECT_THAT(checkpoints_.BeginView(Epoch{4}, kThree, {kLeft, kRight}, {}).lines, IsEmpty());
  EXPECT_THAT(checkpoints_.BeginView(Epoch{5}, one, {kLeft, kLeft}, {}).lines,
              ElementsAre(HasSubstr("there can be 1 copy, not 2")));
}

}  // namespace
}  // namespace phalanx::control
