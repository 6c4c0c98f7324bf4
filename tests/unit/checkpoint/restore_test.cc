#include "checkpoint/restore.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::checkpoint {
namespace {

using Kind = Source::Kind;

constexpr VersionName kNine{9, 2}, kFive{5, 1};
constexpr Digest kOfRank0{1, 1}, kOfRank1{2, 2};
const RecordedVersion kRecordedNine{kNine, {kOfRank0, kOfRank1}};
const RecordedVersion kRecordedFive{kFive, {kOfRank0, kOfRank1}};
const std::vector<AgentId> kOwners{10, 11};

Inventory Of(AgentId holder, std::vector<ShardItem> items) {
  return {{3, 3}, holder, std::move(items), {}};
}

template <typename T>
const T& At(const std::vector<RestoreOutput>& outputs, size_t i) {
  EXPECT_GT(outputs.size(), i);
  return std::get<T>(outputs[i]);
}

TEST(RestoreTest, TakesTheLocalCopyElseAReplica) {
  Restore restore({}, {{3, 3}, {kRecordedNine}}, kOwners,
                  {Of(10, {{kNine, 0, kOfRank0}, {kNine, 1, kOfRank1}}),
                   Of(12, {{kNine, 0, kOfRank0}, {{12, 2}, 1, kOfRank1}})},
                  {});
  const auto asked = restore.Step(RestoreBegins{});
  EXPECT_EQ(At<Fetch>(asked, 0).source, (Source{Kind::kLocal, 10}));
  EXPECT_EQ(At<Fetch>(asked, 1).source, (Source{Kind::kReplica, 10}));
  EXPECT_EQ(At<Fetch>(asked, 1).name, kNine);  // never the highest found
  EXPECT_TRUE(restore.Step(Fetched{0, kNine, {Kind::kLocal, 10}}).empty());
  EXPECT_EQ(At<Restored>(restore.Step(Fetched{1, kNine, {Kind::kReplica, 10}}), 0).name, kNine);
}

TEST(RestoreTest, StrikesOutACorruptCopyAndCountsIt) {
  Restore restore({}, {{3, 3}, {kRecordedNine}}, {10},
                  {Of(10, {{kNine, 0, kOfRank0}}), Of(11, {{kNine, 0, kOfRank0}})},
                  {kRecordedNine});
  restore.Step(RestoreBegins{});
  auto next = restore.Step(FetchFailed{0, kNine, {Kind::kLocal, 10}, true});
  EXPECT_EQ(At<Fetch>(next, 0).source, (Source{Kind::kReplica, 11}));
  EXPECT_EQ(restore.corrupt_copies(), 1);
  for (int i = 0; i < 2; ++i) {
    next = restore.Step(FetchFailed{0, kNine, {Kind::kReplica, 11}, false});
    EXPECT_EQ(At<Fetch>(next, 0).source.kind, Kind::kReplica);
  }
  next = restore.Step(FetchFailed{0, kNine, {Kind::kReplica, 11}, false});
  EXPECT_EQ(At<Fetch>(next, 0).source.kind, Kind::kPersistent);
}

TEST(RestoreTest, NamesTheLostShardAndTakesAllRanksToAnOlderVersion) {
  Restore restore({}, {{3, 3}, {kRecordedNine}}, kOwners,
                  {Of(10, {{kNine, 0, kOfRank0}, {kNine, 1, kOfRank1}})}, {kRecordedFive});
  const auto first = restore.Step(RestoreBegins{});
  restore.Step(Fetched{0, kNine, {Kind::kLocal, 10}});
  const auto next = restore.Step(FetchFailed{1, kNine, {Kind::kReplica, 10}, true});
  EXPECT_EQ(At<VersionLost>(next, 0).name, kNine);
  EXPECT_EQ(At<VersionLost>(next, 0).rank, 1);
  EXPECT_EQ(At<Fetch>(next, 1).rank, 0);  // again, though it had the newer one
  EXPECT_EQ(At<Fetch>(next, 1).name, kFive);
  EXPECT_GT(At<Fetch>(next, 1).round, At<Fetch>(first, 0).round);
}

TEST(RestoreTest, ItsRoundsComeAfterThoseOfOneThatWasGivenUp) {
  Restore first({}, {{3, 3}, {kRecordedNine}}, {10}, {Of(10, {{kNine, 0, kOfRank0}})},
                {kRecordedFive});
  first.Step(RestoreBegins{});
  first.Step(FetchFailed{0, kNine, {Kind::kLocal, 10}, true});
  RestoreSettings settings;
  settings.rounds_before = first.rounds();
  Restore second(settings, {{3, 3}, {kRecordedNine}}, {10}, {}, {kRecordedFive});
  EXPECT_GT(At<Fetch>(second.Step(RestoreBegins{}), 1).round, first.rounds());
}

TEST(RestoreTest, NothingCommittedIsTheFirstState) {
  Restore restore({}, {{3, 3}, {}}, {10}, {}, {});
  EXPECT_EQ(At<Fetch>(restore.Step(RestoreBegins{}), 0).source.kind, Kind::kInitial);
  const auto done = restore.Step(Fetched{0, kInitialVersion, {Kind::kInitial, 0}});
  EXPECT_EQ(At<Restored>(done, 0).name, kInitialVersion);
}

TEST(RestoreTest, ACommittedVersionThatIsLostIsNeverTheFirstState) {
  Restore restore({}, {{3, 3}, {kRecordedNine}}, kOwners, {Of(10, {{kNine, 0, kOfRank0}})}, {});
  const auto outputs = restore.Step(RestoreBegins{});
  EXPECT_EQ(At<VersionLost>(outputs, 0).rank, 1);
  At<NothingLeft>(outputs, 1);
}

}  // namespace
}  // namespace phalanx::checkpoint
