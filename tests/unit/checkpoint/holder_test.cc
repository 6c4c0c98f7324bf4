#include "checkpoint/holder.h"

#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::checkpoint {
namespace {

using testing::IsEmpty;

constexpr VersionName kFive{5, 1}, kSix{6, 1};
constexpr Digest kDigest{3, 4};

class HolderTest : public testing::Test {
 protected:
  HolderTest() : holder_({10, 2}) {}
  void Step(const HolderInput& input) { outputs_ = holder_.Step(input); }
  void Store(const VersionName& name, int rank) {
    Step(ShardBegins{name, rank, 1, {}});
    Step(ChunkArrived{name, rank, 0, true});
    Step(ShardDigested{name, rank, kDigest});
  }
  template <typename T>
  const T& Only() const {
    EXPECT_EQ(outputs_.size(), 1U);
    return std::get<T>(outputs_.front());
  }

  Holder holder_;
  std::vector<HolderOutput> outputs_;
};

TEST_F(HolderTest, SaysStoredOnceAllChunksAreThereAndDigested) {
  Step(Orders{{1, 1}, 1, {}, {kFive}, 5});
  EXPECT_EQ(holder_.VerdictOn(kFive), Holder::Verdict::kTake);
  Step(ShardBegins{kFive, 0, 2, kDigest});
  Step(ChunkArrived{kFive, 0, 1, true});
  Step(ChunkArrived{kFive, 0, 0, false});
  EXPECT_EQ(Only<FetchChunk>().index, 0U);
  Step(ChunkArrived{kFive, 0, 0, true});
  EXPECT_EQ(Only<DigestShard>().name, kFive);
  EXPECT_FALSE(holder_.Has(kFive, 0));
  Step(ShardDigested{kFive, 0, kDigest});
  EXPECT_EQ(Only<Stored>().shard.digest, kDigest);
  EXPECT_TRUE(holder_.Has(kFive, 0));
}

TEST_F(HolderTest, WrongBytesAreRefusedAndMayComeAgain) {
  Step(Orders{{1, 1}, 1, {}, {kFive}, 5});
  Step(ShardBegins{kFive, 0, 1, kDigest});
  Step(ChunkArrived{kFive, 0, 0, true});
  Step(ShardDigested{kFive, 0, Digest{9, 9}});
  EXPECT_EQ(Only<Refused>().reason, Refused::Reason::kCorrupt);
  Store(kFive, 0);
  EXPECT_TRUE(holder_.Has(kFive, 0));
}

TEST_F(HolderTest, HasNoRoomForWhatWasNotOrdered) {
  Step(ShardBegins{kFive, 0, 1, {}});
  EXPECT_EQ(Only<Refused>().reason, Refused::Reason::kNoRoom);
}

TEST_F(HolderTest, FreesWhatTheNewestOrdersDoNotName) {
  Step(Orders{{1, 1}, 2, {kFive}, {kSix}, 6});
  Store(kFive, 0);
  Step(Orders{{1, 1}, 1, {}, {kFive}, 5});  // overtaken
  EXPECT_TRUE(holder_.Has(kFive, 0));
  Step(Orders{{1, 1}, 3, {kSix}, {}, 6});
  EXPECT_EQ(Only<Release>().name, kFive);
}

TEST_F(HolderTest, RefusesEarlierTermsAndEpochs) {
  Step(Orders{{1, 1}, 5, {}, {kFive}, 5});
  Step(Ask{{2, 2}});
  EXPECT_FALSE(Only<Inventory>().orders.has_value());  // they are another epoch's
  Step(Orders{{1, 1}, 6, {}, {}, 9});
  EXPECT_EQ(Only<Refused>().reason, Refused::Reason::kStale);
  Step(ShardBegins{kFive, 0, 1, {}});
  EXPECT_EQ(Only<Refused>().reason, Refused::Reason::kStale);
  EXPECT_EQ(holder_.VerdictOn(kFive), Holder::Verdict::kUndecided);
  Step(Ask{{1, 9}});
  EXPECT_EQ(Only<Refused>().reason, Refused::Reason::kStale);
}

TEST_F(HolderTest, TellsTheNextCoordinatorOfTheEpochWhatWasOrdered) {
  Step(Orders{{1, 1}, 5, {}, {kFive}, 5});
  Store(kFive, 1);
  Step(Ask{{1, 2}});
  const Inventory& inventory = Only<Inventory>();
  ASSERT_EQ(inventory.items.size(), 1U);
  EXPECT_EQ(inventory.items[0].rank, 1);
  EXPECT_EQ(inventory.orders->sequence, 5U);
}

TEST_F(HolderTest, RepeatsThatACopyIsBadUntilItIsWholeAgain) {
  Step(Orders{{1, 1}, 1, {kFive}, {}, 5});
  Store(kFive, 0);
  Step(ShardIsBad{kFive, 0});
  EXPECT_EQ(Only<CopyIsBad>().rank, 0);
  Step(HolderAgain{});
  EXPECT_EQ(Only<CopyIsBad>().holder, 10);
  Store(kFive, 0);
  Step(HolderAgain{});
  EXPECT_EQ(Only<Stored>().holder, 10);
}

TEST_F(HolderTest, SkippedVersionsAreToldToTheRanks) {
  Step(Orders{{1, 1}, 1, {}, {kFive}, 6});
  EXPECT_EQ(holder_.VerdictOn(kSix), Holder::Verdict::kSkip);
  EXPECT_EQ(holder_.VerdictOn({7, 1}), Holder::Verdict::kUndecided);
}

}  // namespace
}  // namespace phalanx::checkpoint
