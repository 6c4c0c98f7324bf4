#include "checkpoint/commit.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Result = RecordAnswer::Result;

constexpr Digest kOfRank0{1, 1}, kOfRank1{2, 2};

// Two ranks on agents 10 and 11, each of which also holds the other's shard.
class CommitTest : public testing::Test {
 protected:
  void Begin(const RecordView& record, std::optional<Orders> seen = {}) {
    Placement placement{{{10, 11}, {11, 10}}, 2, 2};
    commit_ = std::make_unique<Commit>(settings_, record, placement, std::vector<AgentId>{10, 11});
    Step(CommitBegins{});
    Step(Inventory{record.term, 10, items_of_10_, seen});
    Step(Inventory{record.term, 11, items_of_11_, {}});
  }
  void Step(const CommitInput& input) { outputs_ = commit_->Step(input); }
  void StoreAll(const VersionName& name) {
    for (const AgentId agent : {10, 11}) {
      Step(Stored{agent, {name, 0, kOfRank0}});
      Step(Stored{agent, {name, 1, kOfRank1}});
    }
  }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const CommitOutput& output : outputs_) {
      if (const T* it = std::get_if<T>(&output)) found.push_back(*it);
    }
    return found;
  }
  Orders Ordered() const {
    const auto told = All<TellAgent>();
    EXPECT_FALSE(told.empty());
    return std::get<Orders>(told.back().what);
  }

  CommitSettings settings_;
  std::vector<ShardItem> items_of_10_, items_of_11_;
  std::unique_ptr<Commit> commit_;
  std::vector<CommitOutput> outputs_;
};

TEST_F(CommitTest, CommitsOnceAllHoldersOfAllShardsHaveVerified) {
  Begin({{1, 1}, {}});
  const VersionName name{5, 1};
  Step(Wants{0, name});
  EXPECT_THAT(Ordered().in_flight, ElementsAre(name));
  Step(Stored{10, {name, 0, kOfRank0}});
  Step(Stored{11, {name, 0, kOfRank0}});
  Step(Stored{11, {name, 1, kOfRank1}});
  EXPECT_THAT(All<WriteRecord>(), IsEmpty());
  Step(Stored{10, {name, 1, kOfRank1}});
  ASSERT_EQ(All<WriteRecord>().size(), 1U);
  EXPECT_EQ(All<WriteRecord>()[0].value.kept,
            (std::vector<RecordedVersion>{{name, {kOfRank0, kOfRank1}}}));
  Step(RecordAnswer{Result::kDone, {}});
  EXPECT_EQ(All<Committed>()[0].name, name);
  EXPECT_THAT(Ordered().kept, ElementsAre(name));
}

TEST_F(CommitTest, FreesTheVersionBeforeOnlyWhenTheNewOneIsDurable) {
  const VersionName old{5, 1}, next{6, 1};
  Begin({{1, 1}, {{old, {kOfRank0, kOfRank1}}}});
  Step(Wants{0, next});
  StoreAll(next);
  ASSERT_EQ(All<WriteRecord>().size(), 1U);
  Step(RecordAnswer{Result::kUnknown, {}});
  EXPECT_EQ(All<ReadRecord>().size(), 1U);
  Step(CommitAgain{});
  EXPECT_THAT(Ordered().kept, ElementsAre(old));
  Step(RecordRead{{{1, 1}, {{old, {kOfRank0, kOfRank1}}}}});
  EXPECT_EQ(All<WriteRecord>().size(), 1U);  // once more
  EXPECT_THAT(All<Free>(), IsEmpty());
  Step(RecordAnswer{Result::kConflict, {{1, 1}, {{next, {kOfRank0, kOfRank1}}}}});
  EXPECT_EQ(All<Committed>()[0].name, next);
  EXPECT_EQ(All<Free>()[0].name, old);
  EXPECT_THAT(Ordered().kept, ElementsAre(next));
}

TEST_F(CommitTest, AnotherTermInTheRecordEndsIt) {
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  StoreAll({5, 1});
  Step(RecordAnswer{Result::kConflict, {{1, 2}, {}}});
  EXPECT_EQ(All<Superseded>().size(), 1U);
  Step(CommitAgain{});
  EXPECT_THAT(outputs_, IsEmpty());
}

TEST_F(CommitTest, WithoutRoomAllSkipTheSameVersion) {
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  Step(Wants{1, {6, 1}});
  EXPECT_EQ(Ordered().decided, 6);
  EXPECT_THAT(Ordered().in_flight, ElementsAre(VersionName{5, 1}));
  StoreAll({5, 1});
  Step(RecordAnswer{Result::kDone, {}});
  Step(Wants{0, {6, 1}});  // there is room now, but rank 1 has gone on
  EXPECT_EQ(Ordered().decided, 6);
  EXPECT_THAT(Ordered().in_flight, IsEmpty());
}

TEST_F(CommitTest, OrAllWaitWhereToldTo) {
  settings_.when_full = CommitSettings::WhenFull::kWait;
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  Step(Wants{1, {6, 1}});
  EXPECT_THAT(outputs_, IsEmpty());
  StoreAll({5, 1});
  Step(RecordAnswer{Result::kDone, {}});
  EXPECT_THAT(Ordered().in_flight, ElementsAre(VersionName{6, 1}));
}

TEST_F(CommitTest, TheNextCoordinatorCommitsWhatAllHadStored) {
  const VersionName name{5, 1};
  items_of_10_ = {{name, 0, kOfRank0}, {name, 1, kOfRank1}};
  items_of_11_ = items_of_10_;
  Begin({{1, 2}, {}}, Orders{{1, 1}, 3, {}, {name}, 7});
  ASSERT_EQ(All<WriteRecord>().size(), 1U);
  EXPECT_EQ(Newest(All<WriteRecord>()[0].value), name);
  EXPECT_EQ(Ordered().decided, 7);  // what was skipped stays skipped
}

TEST_F(CommitTest, ANewEpochFreesWhatTheOldOneDidNotCommit) {
  const VersionName name{5, 1};
  items_of_10_ = {{name, 0, kOfRank0}, {name, 1, kOfRank1}};
  items_of_11_ = items_of_10_;
  Begin({{2, 2}, {}});
  EXPECT_THAT(All<WriteRecord>(), IsEmpty());
  EXPECT_THAT(Ordered().in_flight, IsEmpty());
  Step(Wants{0, name});  // from another epoch
  EXPECT_THAT(outputs_, IsEmpty());
}

TEST_F(CommitTest, MakesMissingCopiesAgainBeforeItIsHealthy) {
  const VersionName name{5, 1};
  items_of_10_ = {{name, 0, kOfRank0}, {name, 1, kOfRank1}};
  items_of_11_ = {{name, 1, kOfRank1}};
  Begin({{2, 2}, {{name, {kOfRank0, kOfRank1}}}});
  EXPECT_THAT(All<Healthy>(), IsEmpty());
  ASSERT_EQ(All<CopyShard>().size(), 1U);
  EXPECT_EQ(All<CopyShard>()[0].from, 10);
  EXPECT_EQ(All<CopyShard>()[0].to, 11);
  EXPECT_EQ(All<CopyShard>()[0].rank, 0);
  Step(Stored{11, {name, 0, kOfRank0}});
  EXPECT_EQ(All<Healthy>().size(), 1U);
}

TEST_F(CommitTest, TheFirstHolderGivesItToTheOthers) {
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  Step(Stored{10, {{5, 1}, 0, kOfRank0}});
  ASSERT_EQ(All<CopyShard>().size(), 1U);
  EXPECT_EQ(All<CopyShard>()[0].name, (VersionName{5, 1}));
  EXPECT_EQ(All<CopyShard>()[0].from, 10);
  EXPECT_EQ(All<CopyShard>()[0].to, 11);
  EXPECT_EQ(All<CopyShard>()[0].digest, kOfRank0);
  Step(CommitAgain{});
  EXPECT_EQ(All<CopyShard>().size(), 1U);
  Step(Stored{11, {{5, 1}, 0, kOfRank0}});
  EXPECT_THAT(All<CopyShard>(), IsEmpty());
  Step(CommitAgain{});
  EXPECT_THAT(All<CopyShard>(), IsEmpty());
}

TEST_F(CommitTest, TheNextCoordinatorGoesOnWithTheCopies) {
  const VersionName name{5, 1};
  items_of_10_ = {{name, 0, kOfRank0}};
  Begin({{1, 2}, {}}, Orders{{1, 1}, 3, {}, {name}, 5});
  ASSERT_EQ(All<CopyShard>().size(), 1U);
  EXPECT_EQ(All<CopyShard>()[0].to, 11);
}

TEST_F(CommitTest, HoldersThatDisagreeEndTheVersion) {
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  Step(Stored{10, {{5, 1}, 0, kOfRank0}});
  Step(Stored{11, {{5, 1}, 0, kOfRank1}});
  EXPECT_EQ(All<Abandoned>()[0].holder, 11);
  EXPECT_THAT(Ordered().in_flight, IsEmpty());
}

TEST_F(CommitTest, AShardThatGoesBadBeforeAllHaveItEndsTheVersion) {
  Begin({{1, 1}, {}});
  Step(Wants{0, {5, 1}});
  Step(Stored{10, {{5, 1}, 0, kOfRank0}});
  Step(CopyIsBad{{5, 1}, 0, 10});
  EXPECT_EQ(All<Abandoned>().size(), 1U);
}

}  // namespace
}  // namespace phalanx::checkpoint
