#include "checkpoint_wire/codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace phalanx::checkpoint {
namespace {

const VersionName kName{120, 3};
const Digest kDigest{0x0123456789abcdef, 0xfedcba9876543210};
const Term kTerm{3, 2};

Orders SampleOrders() { return {kTerm, 7, {kName, {110, 2}}, {{121, 3}}, 121}; }

// One of each kind, in the order of the variant.
std::vector<Message> Samples() {
  return {Ask{kTerm},
          SampleOrders(),
          Fetch{2, kName, {Source::Kind::kReplica, 9}, kDigest, 4},
          Restored{kName},
          Inventory{kTerm, 0, {{kName, 2, kDigest}, {kName, 3, {1, 2}}}, SampleOrders()},
          Stored{0, {kName, 2, kDigest}},
          CopyIsBad{kName, 2, 0},
          Wants{2, kName},
          FetchEnded{2, kName, {Source::Kind::kLocal, 9}, LoadResult::kCorrupt, 4096},
          OpenRooms{uint64_t{5} << 32},
          Reached{120},
          Taken{120},
          AwaitsState{},
          Loaded{4, LoadResult::kNoAnswer},
          Rooms{2},
          Verdict{120, 1},
          Load{kName, kDigest, 4, 4096, true},
          DescribeState{{{"weights", 4096}, {"", 0}}},
          AskTier{},
          Tier{{{kName, "a1b2c3", 4, 1700000000000}, {{110, 2}, "older", 4, 1}}, "no such folder"},
          Persist{kName, 4},
          ShardWritten{kName, 3, 4200, kDigest, 0xdeadbeef},
          PersistFailed{kName, -1, "disk full"},
          PeerAddress{9, "::1", 4711},
          Copy{kName, 2, 9, kDigest},
          CopyEnded{kName, 2, 9, LoadResult::kCorrupt, 4096},
          ReadPart{kName, 2, uint64_t{1} << 40, kMostPartBytes, true},
          CheckShard{kName, 2},
          ShardPart{kName, 2, 4096, 4099, 0xdeadbeef, std::string("\0\x01\xff", 3)},
          NoShard{kName, 2},
          PartsLater{},
          AskStanding{kTerm},
          Resolve{kTerm, 121},
          CopyRegions{kTerm, 121, 3},
          ServeRegions{kTerm, 121, 2},
          ResumeSteps{kTerm},
          ApplyStep{kTerm, 122},
          RollBackSteps{kTerm},
          StepReport{kTerm, 0, true, 121, StepBallot{122, 3}},
          StepStands{kTerm, 0, 121, 4096},
          Vote{kTerm, 0, 122}};
}

TEST(CheckpointWireTest, EveryKindSurvives) {
  const std::vector<Message> samples = Samples();
  ASSERT_EQ(samples.size(), std::variant_size_v<Message>);
  for (size_t kind = 0; kind < samples.size(); ++kind) {
    ASSERT_EQ(samples[kind].index(), kind);
    const auto back = Decode(Encode(samples[kind]));
    ASSERT_TRUE(back.ok()) << kind << ": " << back.status();
    ASSERT_EQ(back->index(), kind);
    // The encoding is a function of the values, so equal bytes are equal values.
    EXPECT_EQ(Encode(*back), Encode(samples[kind])) << kind;
  }
}

TEST(CheckpointWireTest, TheValuesArriveInTheirPlaces) {
  const auto inventory = std::get<Inventory>(*Decode(Encode(Samples()[4])));
  EXPECT_EQ(inventory.term, kTerm);
  ASSERT_EQ(inventory.items.size(), 2u);
  EXPECT_EQ(inventory.items[1].rank, 3);
  EXPECT_EQ(inventory.items[0].digest, kDigest);
  ASSERT_TRUE(inventory.orders.has_value());
  EXPECT_EQ(inventory.orders->kept, SampleOrders().kept);
  EXPECT_EQ(inventory.orders->in_flight, SampleOrders().in_flight);
  EXPECT_EQ(inventory.orders->decided, 121);
  const auto fetch = std::get<Fetch>(*Decode(Encode(Samples()[2])));
  EXPECT_EQ(fetch.source, (Source{Source::Kind::kReplica, 9}));
  EXPECT_EQ(fetch.digest, kDigest);
  EXPECT_EQ(fetch.round, 4u);
  const auto ended = std::get<FetchEnded>(*Decode(Encode(Samples()[8])));
  EXPECT_EQ(ended.result, LoadResult::kCorrupt);
  EXPECT_EQ(ended.bytes, 4096u);
  const auto described = std::get<DescribeState>(*Decode(Encode(Samples()[17])));
  ASSERT_EQ(described.regions.size(), 2u);
  EXPECT_EQ(described.regions[0].name, "weights");
  EXPECT_EQ(described.regions[0].bytes, 4096u);
  const auto tier = std::get<Tier>(*Decode(Encode(Samples()[19])));
  ASSERT_EQ(tier.versions.size(), 2u);
  EXPECT_EQ(tier.versions[0].name, kName);
  EXPECT_EQ(tier.versions[0].job, "a1b2c3");
  EXPECT_EQ(tier.versions[0].ranks, 4);
  EXPECT_EQ(tier.versions[0].committed_unix_ms, 1700000000000);
  EXPECT_EQ(tier.problem, "no such folder");
  const auto written = std::get<ShardWritten>(*Decode(Encode(Samples()[21])));
  EXPECT_EQ(written.bytes, 4200u);
  EXPECT_EQ(written.digest, kDigest);
  EXPECT_EQ(written.crc32c, 0xdeadbeef);
  const auto failed = std::get<PersistFailed>(*Decode(Encode(Samples()[22])));
  EXPECT_EQ(failed.rank, -1);
  EXPECT_EQ(failed.problem, "disk full");
  const auto empty = std::get<Inventory>(*Decode(Encode(Inventory{kTerm, 0, {}, {}})));
  EXPECT_TRUE(empty.items.empty());
  EXPECT_FALSE(empty.orders.has_value());
}

TEST(CheckpointWireTest, BoundsAreHeld) {
  const std::vector<Message> wrong = {
      Wants{-1, kName},
      Wants{kMaxRank + 1, kName},
      Stored{0, {kName, -5, kDigest}},
      Rooms{kMostRooms + 1},
      Verdict{1, -2},
      Verdict{1, static_cast<int>(kMostRooms)},
      Loaded{1, static_cast<LoadResult>(kLoadResultCount)},
      Fetch{0, kName, {static_cast<Source::Kind>(9), 0}, kDigest, 1},
      Orders{kTerm, 1, std::vector<VersionName>(kMostVersions + 1), {}, 0},
      DescribeState{{{std::string(kMaxNameBytes + 1, 'x'), 1}}},
      Tier{std::vector<TierVersion>(kMostVersions + 1, {kName, "job", 1, 0}), ""},
      Tier{{{kName, "job", 0, 0}}, ""},
      Persist{kName, 0},
      ShardWritten{kName, -1, 0, kDigest, 0},
      PersistFailed{kName, -2, ""},
  };
  for (const Message& message : wrong) {
    EXPECT_EQ(Decode(Encode(message)).status().code(), absl::StatusCode::kInvalidArgument)
        << message.index();
  }
}

TEST(CheckpointWireTest, EveryTruncationIsRefusedOrMeansTheSame) {
  for (const Message& message : Samples()) {
    const std::string bytes = Encode(message);
    for (size_t length = 0; length < bytes.size(); ++length) {
      const auto decoded = Decode(absl::string_view(bytes).substr(0, length));
      if (!decoded.ok()) continue;
      EXPECT_EQ(Encode(*decoded), bytes);  // padding alone was lost
    }
  }
}

TEST(CheckpointWireTest, DamageIsRefusedOrStaysWithinBounds) {
  const char* const given = std::getenv("PHALANX_TEST_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("PHALANX_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::vector<Message> samples = Samples();
    std::string bytes = Encode(samples[random() % samples.size()]);
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto decoded = Decode(bytes);
    if (!decoded.ok()) continue;
    if (const auto* wants = std::get_if<Wants>(&*decoded)) {
      EXPECT_GE(wants->rank, 0);
      EXPECT_LE(wants->rank, kMaxRank);
    }
    EXPECT_TRUE(Decode(Encode(*decoded)).ok());
  }
}

}  // namespace
}  // namespace phalanx::checkpoint
