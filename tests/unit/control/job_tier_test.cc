// The coordinator's part of the persistent tier, with agents played by the test.
#include "control_coordinator/job_tier.h"

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
using checkpoint::RecordedVersion;
using checkpoint::Tier;
using checkpoint::VersionName;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr AgentId kLeft = 11;
constexpr AgentId kRight = 12;
const Digest kZero{1, 2};
const Digest kOne{3, 4};

RecordedVersion Version(int64_t version, uint64_t epoch = 1) {
  return {{version, epoch}, {kZero, kOne}};
}

class JobTierTest : public testing::Test {
 protected:
  explicit JobTierTest(int every = 1) : tier_({.folder = "/dir", .every = every, .keep = 2}) {}

  CheckpointOutputs BeginView() {
    CheckpointOutputs outputs;
    tier_.BeginView({kLeft, kRight}, {kLeft, kRight}, &outputs);
    return outputs;
  }
  CheckpointOutputs Answer(std::vector<checkpoint::TierVersion> versions,
                           const std::string& problem = "") {
    CheckpointOutputs outputs;
    tier_.OnTier(kLeft, {std::move(versions), problem}, &outputs);
    return outputs;
  }
  CheckpointOutputs Commit(int64_t version, uint64_t epoch = 1) {
    CheckpointOutputs outputs;
    tier_.OnCommitted(Version(version, epoch), &outputs);
    return outputs;
  }
  CheckpointOutputs Written(int64_t version, int rank, Digest digest) {
    CheckpointOutputs outputs;
    tier_.OnShardWritten({{version, 1}, rank, 100, digest, 7}, &outputs);
    return outputs;
  }
  CheckpointOutputs Failed(int64_t version, int rank, const std::string& problem) {
    CheckpointOutputs outputs;
    tier_.OnPersistFailed({{version, 1}, rank, problem}, &outputs);
    return outputs;
  }

  JobTier tier_;
};

TEST_F(JobTierTest, TheAgentOfRankZeroIsAskedAndAllHearTheAnswer) {
  const auto asked = Told<checkpoint::AskTier>(BeginView());
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].first, kLeft);
  EXPECT_FALSE(tier_.known());
  CheckpointOutputs ignored;
  tier_.OnTier(kRight, {}, &ignored);
  EXPECT_FALSE(tier_.known());
  const auto told = Told<Tier>(Answer({{{9, 3}, "before", 2, 1}, {{7, 1}, "before", 2, 0}}));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].first, kRight);
  EXPECT_EQ(told[1].second.versions.at(0).job, "before");
  EXPECT_TRUE(tier_.known());
  const std::vector<RecordedVersion> versions = tier_.Versions();
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].name, (VersionName{9, 3}));
  EXPECT_EQ(versions[0].digests, std::vector<Digest>(2));
  // The next view doesn't wait for it again.
  tier_.EndView();
  const CheckpointOutputs next = BeginView();
  EXPECT_THAT(Told<checkpoint::AskTier>(next), IsEmpty());
  EXPECT_EQ(Told<Tier>(next).size(), 2u);
}

TEST_F(JobTierTest, AFolderThatCannotBeReadOrIsOfAnotherWorldEndsTheJob) {
  BeginView();
  EXPECT_THAT(std::string(Answer({}, "/dir: no such folder").lost.message()),
              HasSubstr("/dir: no such folder"));
  EXPECT_FALSE(tier_.known());
  const absl::Status status = Answer({{{9, 3}, "before", 8, 1}}).lost;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("8 ranks (version 9 of epoch 3 of job "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("this job has 2"));
  EXPECT_FALSE(tier_.known());
}

TEST_F(JobTierTest, AVersionIsSealedOnceAllItsShardsAreWritten) {
  BeginView();
  Answer({});
  const auto persist = Told<checkpoint::Persist>(Commit(5));
  ASSERT_EQ(persist.size(), 2u);
  EXPECT_EQ(persist[1].first, kRight);
  EXPECT_EQ(persist[1].second.name, (VersionName{5, 1}));
  EXPECT_EQ(persist[1].second.ranks, 2);
  // The shards' records go to the agent of rank 0, each once.
  const auto first = Told<checkpoint::ShardWritten>(Written(5, 1, kOne));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].first, kLeft);
  EXPECT_EQ(first[0].second.rank, 1);
  EXPECT_THAT(Written(5, 1, kOne).messages, IsEmpty());
  EXPECT_EQ(Told<checkpoint::ShardWritten>(Written(5, 0, kZero)).size(), 1u);
  EXPECT_TRUE(tier_.writing());
  Answer({{{5, 1}, "job", 2, 1}});
  EXPECT_FALSE(tier_.writing());
  EXPECT_EQ(tier_.Versions().at(0).name, (VersionName{5, 1}));
}

TEST_F(JobTierTest, OneIsWrittenAtATimeAndTheOthersAreLeftOut) {
  BeginView();
  Answer({});
  Commit(1);
  const CheckpointOutputs second = Commit(2);
  EXPECT_THAT(second.messages, IsEmpty());
  EXPECT_THAT(second.lines, ElementsAre(HasSubstr("version 2 of epoch 1 isn't written to /dir")));
  for (int64_t version = 3; version <= 10; ++version) EXPECT_THAT(Commit(version).lines, IsEmpty());
  EXPECT_THAT(Commit(11).lines, ElementsAre(HasSubstr("(10 times so far)")));
  Written(1, 0, kZero);
  Written(1, 1, kOne);
  Answer({{{1, 1}, "job", 2, 1}});
  EXPECT_EQ(Told<checkpoint::Persist>(Commit(12)).size(), 2u);
}

TEST_F(JobTierTest, AFailureIsSaidOnceAllHaveAnswered) {
  BeginView();
  Answer({});
  Commit(1);
  EXPECT_THAT(Failed(1, 0, "/dir/x: No space left").lines, IsEmpty());
  EXPECT_TRUE(tier_.writing());
  const CheckpointOutputs last = Written(1, 1, kOne);
  EXPECT_THAT(last.lines, ElementsAre("version 1 of epoch 1 isn't written: /dir/x: No space left; "
                                      "the job goes on"));
  EXPECT_FALSE(tier_.writing());
  // The manifest's failure, and a shard that isn't what was committed.
  Commit(2);
  Written(2, 0, kZero);
  Written(2, 1, kOne);
  Failed(2, -1, "no manifest");
  EXPECT_FALSE(tier_.writing());
  Commit(3);
  Written(3, 0, kZero);
  EXPECT_THAT(Told<checkpoint::ShardWritten>(Written(3, 1, kZero)), IsEmpty());
  EXPECT_FALSE(tier_.writing());
}

TEST_F(JobTierTest, WhatTheEndOfTheViewInterruptedIsBegunAgainIfItIsRestored) {
  BeginView();
  Answer({});
  Commit(1);
  tier_.EndView();
  EXPECT_FALSE(tier_.writing());
  BeginView();
  EXPECT_THAT(Written(1, 0, kZero).messages, IsEmpty());  // said before it could know
  const RecordedVersion recorded = Version(1);
  CheckpointOutputs restored;
  tier_.OnRestored(recorded.name, {{2, 1}, {recorded}}, &restored);
  EXPECT_EQ(Told<checkpoint::Persist>(restored).size(), 2u);
  EXPECT_THAT(restored.lines, IsEmpty());
}

TEST_F(JobTierTest, AColdStartIsSaid) {
  BeginView();
  Answer({{{9, 3}, "before", 2, 1}});
  CheckpointOutputs restored;
  tier_.OnRestored({9, 3}, {}, &restored);
  EXPECT_THAT(restored.lines, ElementsAre("cold start from /dir: step 9, written by job before"));
  EXPECT_THAT(restored.messages, IsEmpty());
  // A job that had committed something, and has lost it.
  CheckpointOutputs back;
  tier_.OnRestored({9, 3}, {{2, 1}, {Version(12)}}, &back);
  EXPECT_THAT(back.lines, ElementsAre(HasSubstr("all ranks go back to /dir: step 9, ")));
}

TEST_F(JobTierTest, TheLastVersionIsWrittenUnlessItWasTried) {
  BeginView();
  Answer({});
  CheckpointOutputs outputs;
  tier_.WriteLast(Version(4), &outputs);
  EXPECT_EQ(Told<checkpoint::Persist>(outputs).size(), 2u);
  Failed(4, 0, "disk");
  Failed(4, 1, "disk");
  CheckpointOutputs again;
  tier_.WriteLast(Version(4), &again);
  EXPECT_THAT(again.messages, IsEmpty());
}

class EveryThirdTest : public JobTierTest {
 protected:
  EveryThirdTest() : JobTierTest(3) {}
};

TEST_F(EveryThirdTest, IsWritten) {
  BeginView();
  Answer({});
  EXPECT_THAT(Commit(10).messages, IsEmpty());
  EXPECT_THAT(Commit(20).messages, IsEmpty());
  EXPECT_EQ(Told<checkpoint::Persist>(Commit(30)).size(), 2u);
}

// With the cores: nobody restores before it is known what is in files, and those come last.
TEST(JobCheckpointsWithFilesTest, TheFirstViewBeginsWithWhatIsInFiles) {
  JobCheckpoints checkpoints({}, {.folder = "/dir"});
  const auto say = [&](AgentId agent, const checkpoint::Message& message) {
    CheckpointOutputs outputs;
    EXPECT_TRUE(checkpoints.FromAgent(agent, checkpoint::Encode(message), &outputs).ok());
    return outputs;
  };
  const auto asks = Told<checkpoint::Ask>(checkpoints.BeginView(
      Epoch{1}, {{kLeft, "left", "one", {}}, {kRight, "right", "one", {}}}, {kLeft, kRight}, {}));
  say(kLeft, checkpoint::Inventory{asks.at(0).second.term, 0, {}, {}});
  EXPECT_THAT(Told<checkpoint::Fetch>(
                  say(kRight, checkpoint::Inventory{asks.at(0).second.term, 0, {}, {}})),
              IsEmpty());
  const CheckpointOutputs begun =
      say(kLeft, Tier{{{{9, 3}, "before", 2, 1}, {{7, 1}, "before", 2, 0}}, ""});
  const auto fetches = Told<checkpoint::Fetch>(begun);
  ASSERT_EQ(fetches.size(), 2u);
  EXPECT_EQ(fetches[0].second.name, (VersionName{9, 3}));
  EXPECT_EQ(fetches[0].second.source.kind, checkpoint::Source::Kind::kPersistent);
  // A damaged shard takes all ranks to the version before.
  const checkpoint::Source files{checkpoint::Source::Kind::kPersistent, 0};
  const CheckpointOutputs older =
      say(kRight, checkpoint::FetchEnded{1, {9, 3}, files, checkpoint::LoadResult::kCorrupt, 0});
  EXPECT_THAT(older.lines, ElementsAre(HasSubstr("the shard of rank 1")));
  ASSERT_EQ(Told<checkpoint::Fetch>(older).size(), 2u);
  EXPECT_EQ(Told<checkpoint::Fetch>(older)[0].second.name, (VersionName{7, 1}));
  say(kLeft, checkpoint::FetchEnded{0, {7, 1}, files, checkpoint::LoadResult::kLoaded, 10});
  const CheckpointOutputs restored =
      say(kRight, checkpoint::FetchEnded{1, {7, 1}, files, checkpoint::LoadResult::kLoaded, 10});
  EXPECT_EQ(restored.restored, (VersionName{7, 1}));
  EXPECT_THAT(restored.lines, ElementsAre(HasSubstr("cold start from /dir: step 7")));
}

}  // namespace
}  // namespace phalanx::control
