// The coordinator's part of checkpoints, with agents played by the test.
#include "control_coordinator/job_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "told.h"

namespace phalanx::control {
namespace {

using checkpoint::AgentId;
using checkpoint::Digest;
using checkpoint::VersionName;
using testing::HasSubstr;

constexpr AgentId kLeft = 11;
constexpr AgentId kRight = 12;

class JobCheckpointsTest : public testing::Test {
 protected:
  using Outputs = JobCheckpoints::Outputs;

  static std::vector<JobCheckpoints::Agent> Agents(const std::vector<AgentId>& ids) {
    std::vector<JobCheckpoints::Agent> agents;
    for (const AgentId id : ids) {
      agents.push_back({id, "node " + std::to_string(id), "", {"127.0.0.1", 1}});
    }
    return agents;
  }

  Outputs Say(AgentId agent, const checkpoint::Message& message) {
    Outputs outputs;
    EXPECT_TRUE(checkpoints_.FromAgent(agent, checkpoint::Encode(message), &outputs).ok());
    while (outputs.writes) {
      Outputs more = checkpoints_.RecordWritten();
      outputs.writes = more.writes;
      for (auto& told : more.messages) outputs.messages.push_back(std::move(told));
      for (auto& line : more.lines) outputs.lines.push_back(std::move(line));
    }
    return outputs;
  }

  // Begins the epoch with rank 0 on the left and rank 1 on the right, where `left` and `right` are
  // what their agents hold.
  Outputs BeginView(uint64_t epoch, std::vector<checkpoint::ShardItem> left,
                    std::vector<checkpoint::ShardItem> right) {
    const auto asks = Told<checkpoint::Ask>(
        checkpoints_.BeginView(Epoch{epoch}, Agents({kLeft, kRight}), {kLeft, kRight}, {1, false}));
    EXPECT_EQ(asks.size(), 2u);
    term_ = asks.at(0).second.term;
    EXPECT_EQ(term_.epoch, epoch);
    Say(kLeft, checkpoint::Inventory{term_, 0, std::move(left), {}});
    return Say(kRight, checkpoint::Inventory{term_, 0, std::move(right), {}});
  }

  // Both ranks load what they are told to.
  Outputs LoadAll(const Outputs& begun) {
    Outputs last;
    for (const auto& [agent, fetch] : Told<checkpoint::Fetch>(begun)) {
      last = Say(agent, checkpoint::FetchEnded{fetch.rank, fetch.name, fetch.source,
                                               checkpoint::LoadResult::kLoaded, 100});
    }
    return last;
  }

  // Both ranks save `version`; what the last word brought.
  Outputs Commit(int64_t version, uint64_t epoch) {
    const VersionName name{version, epoch};
    Say(kLeft, checkpoint::Wants{0, name});
    Say(kLeft, checkpoint::Stored{0, {name, 0, kZero}});
    return Say(kRight, checkpoint::Stored{0, {name, 1, kOne}});
  }

  const Digest kZero{1, 2};
  const Digest kOne{3, 4};
  JobCheckpoints checkpoints_;
  checkpoint::Term term_;
};

TEST_F(JobCheckpointsTest, TheFirstViewBeginsWithTheFirstState) {
  const Outputs begun = BeginView(1, {}, {});
  const auto fetches = Told<checkpoint::Fetch>(begun);
  ASSERT_EQ(fetches.size(), 2u);
  for (const auto& [agent, fetch] : fetches) {
    EXPECT_EQ(agent, fetch.rank == 0 ? kLeft : kRight);
    EXPECT_EQ(fetch.source.kind, checkpoint::Source::Kind::kInitial);
  }
  const Outputs restored = LoadAll(begun);
  ASSERT_TRUE(restored.restored.has_value());
  EXPECT_EQ(*restored.restored, checkpoint::kInitialVersion);
  EXPECT_EQ(Told<checkpoint::Restored>(restored).size(), 2u);
}

TEST_F(JobCheckpointsTest, AVersionIsCommittedWhenAllRanksHaveStoredItAndTheNextViewBeginsWithIt) {
  LoadAll(BeginView(1, {}, {}));
  const VersionName name{5, 1};
  const auto orders = Told<checkpoint::Orders>(Say(kLeft, checkpoint::Wants{0, name}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].second.in_flight, std::vector<VersionName>{name});
  Say(kLeft, checkpoint::Stored{0, {name, 0, kZero}});
  EXPECT_EQ(checkpoints_.newest(), checkpoint::kInitialVersion);
  const auto kept = Told<checkpoint::Orders>(Say(kRight, checkpoint::Stored{0, {name, 1, kOne}}));
  EXPECT_EQ(checkpoints_.newest(), name);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[1].second.kept, std::vector<VersionName>{name});

  checkpoints_.EndView();
  const Outputs begun = BeginView(2, {{name, 0, kZero}}, {{name, 1, kOne}});
  const auto fetches = Told<checkpoint::Fetch>(begun);
  ASSERT_EQ(fetches.size(), 2u);
  EXPECT_EQ(fetches[1].second.digest, kOne);
  EXPECT_EQ(fetches[1].second.source,
            (checkpoint::Source{checkpoint::Source::Kind::kLocal, kRight}));
  const Outputs restored = LoadAll(begun);
  EXPECT_EQ(*restored.restored, name);
  EXPECT_EQ(restored.bytes_restored, 200u);
}

TEST_F(JobCheckpointsTest, WhileOneIsOnItsWayTheOthersAreSkippedByAll) {
  LoadAll(BeginView(1, {}, {}));
  Say(kLeft, checkpoint::Wants{0, {5, 1}});
  const auto orders = Told<checkpoint::Orders>(Say(kRight, checkpoint::Wants{1, {6, 1}}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].second.in_flight, (std::vector<VersionName>{{5, 1}}));
  EXPECT_EQ(orders[0].second.decided, 6);
}

TEST_F(JobCheckpointsTest, WhatWasNotCommittedWhenTheViewEndedIsForgotten) {
  LoadAll(BeginView(1, {}, {}));
  Commit(5, 1);
  Say(kLeft, checkpoint::Wants{0, {6, 1}});
  Say(kLeft, checkpoint::Stored{0, {{6, 1}, 0, kZero}});
  checkpoints_.EndView();
  // Said before it could know.
  EXPECT_TRUE(Say(kRight, checkpoint::Stored{0, {{6, 1}, 1, kOne}}).messages.empty());
  const Outputs begun = BeginView(2, {{{5, 1}, 0, kZero}, {{6, 1}, 0, kZero}},
                                  {{{5, 1}, 1, kOne}, {{6, 1}, 1, kOne}});
  EXPECT_EQ(Told<checkpoint::Fetch>(begun).at(0).second.name, (VersionName{5, 1}));
}

TEST_F(JobCheckpointsTest, ALostShardIsNamedAndNothingElseIsLoaded) {
  LoadAll(BeginView(1, {}, {}));
  Commit(5, 1);
  checkpoints_.EndView();
  const Outputs begun = BeginView(2, {{{5, 1}, 0, kZero}}, {});
  EXPECT_EQ(begun.lost.code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(begun.lines.size(), 1u);
  EXPECT_THAT(begun.lines[0], HasSubstr("version 5 of epoch 1"));
  EXPECT_THAT(begun.lines[0], HasSubstr("rank 1"));
  EXPECT_TRUE(Told<checkpoint::Fetch>(begun).empty());
}

TEST_F(JobCheckpointsTest, ACorruptCopyIsSaidAndNotTriedAgain) {
  LoadAll(BeginView(1, {}, {}));
  Commit(5, 1);
  checkpoints_.EndView();
  BeginView(2, {{{5, 1}, 0, kZero}}, {{{5, 1}, 1, kOne}});
  const VersionName name{5, 1};
  EXPECT_THAT(Say(kRight, checkpoint::CopyIsBad{name, 1, 0}).lines.at(0), HasSubstr("corrupt"));
  const Outputs outputs =
      Say(kRight, checkpoint::FetchEnded{1,
                                         name,
                                         {checkpoint::Source::Kind::kLocal, kRight},
                                         checkpoint::LoadResult::kCorrupt,
                                         100});
  EXPECT_EQ(outputs.lost.code(), absl::StatusCode::kDataLoss);
}

TEST_F(JobCheckpointsTest, AnAgentWithoutRanksMayGoWhileTheOthersAreAsked) {
  constexpr AgentId kThird = 13;
  checkpoints_.BeginView(Epoch{1}, Agents({kLeft, kRight, kThird}), {kLeft, kRight}, {1, false});
  const auto asks = Told<checkpoint::Ask>(checkpoints_.LoseAgent(kThird));
  ASSERT_EQ(asks.size(), 2u);
  Say(kLeft, checkpoint::Inventory{asks[0].second.term, 0, {}, {}});
  const Outputs begun = Say(kRight, checkpoint::Inventory{asks[0].second.term, 0, {}, {}});
  EXPECT_EQ(Told<checkpoint::Fetch>(begun).size(), 2u);
}

TEST_F(JobCheckpointsTest, WhatOnlyOthersSayIsRefused) {
  LoadAll(BeginView(1, {}, {}));
  Outputs outputs;
  EXPECT_EQ(
      checkpoints_.FromAgent(kLeft, checkpoint::Encode(checkpoint::Taken{1}), &outputs).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(checkpoints_.FromAgent(kLeft, "garbage", &outputs).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(outputs.messages.empty());
}

}  // namespace
}  // namespace phalanx::control
