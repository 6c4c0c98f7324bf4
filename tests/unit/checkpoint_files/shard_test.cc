// A rank's shard, written and read back.
#include "checkpoint_files/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "checkpoint_digest/digest.h"
#include "support.h"

namespace phalanx::checkpoint {
namespace {

using testing::HasSubstr;

VersionPlace PlaceIn(const TemporaryFolder& folder) {
  return {.folder = folder.path(), .job = "job", .name = {.version = 120, .epoch = 3}};
}

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

std::vector<RegionLayout> OneOfEachType() {
  std::vector<RegionLayout> layouts;
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    layouts.push_back({.name = NameOf(type),
                       .type = type,
                       .shape = {2, 3, i},
                       .bytes = SizeOf(type) * 6 * static_cast<uint64_t>(i)});
  }
  layouts.push_back({.name = "scalar", .type = DataType::kFloat64, .shape = {}, .bytes = 8});
  layouts.push_back(Bytes("raw", 3'000'001));
  layouts.push_back(Bytes("no bytes", 0));
  return layouts;
}

TEST(Shard, RoundTripOfEveryType) {
  const TemporaryFolder folder;
  const State state(OneOfEachType(), 1);
  const absl::StatusOr<ShardRecord> record = WriteShard(PlaceIn(folder), 1, 4, state.Saved());
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string path =
      folder.path() + "/job/version-120-epoch-3/rank-00001-of-00004.safetensors";
  const std::string file = ReadFile(path);
  const std::string data = state.Concatenated();
  EXPECT_EQ(record->bytes, file.size());
  EXPECT_EQ(record->digest, DigestOf(data.data(), data.size()));
  EXPECT_EQ(record->crc32c, Crc32c(file.data(), file.size()));
  EXPECT_EQ((file.size() - data.size()) % 8, 0u);
  State restored = state.Blank();
  const absl::Status read = ReadShard(path, *record, restored.Restored());
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(restored.memory(), state.memory());
  const absl::Status verified = VerifyShard(path, *record);
  EXPECT_TRUE(verified.ok()) << verified;
}

TEST(Shard, LayoutsAndAnyOrder) {
  const TemporaryFolder folder;
  const State state = State::OfRank(0);
  const absl::StatusOr<ShardRecord> record = WriteShard(PlaceIn(folder), 0, 1, state.Saved());
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string path = ShardPath(PlaceIn(folder), 0, 1);
  const absl::StatusOr<std::vector<RegionLayout>> layouts = ReadShardLayout(path, *record);
  ASSERT_TRUE(layouts.ok()) << layouts.status();
  ASSERT_EQ(layouts->size(), 2u);
  EXPECT_EQ((*layouts)[0], Floats("weights", {3, 7}));
  EXPECT_EQ(
      (*layouts)[1],
      (RegionLayout{.name = "optimizer", .type = DataType::kUint8, .shape = {37}, .bytes = 37}));
  State restored = state.Blank();
  std::vector<RestoredRegion> regions = restored.Restored();
  std::swap(regions[0], regions[1]);
  EXPECT_TRUE(ReadShard(path, *record, regions).ok());
  EXPECT_EQ(restored.memory(), state.memory());
}

TEST(Shard, NamesAreAnyText) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"",
                                          "quote\" and \\ and \n",
                                          std::string("nul\0inside", 10),
                                          "Größe/σ/重み/\U0001f409",
                                          " ",
                                          "__metadata",
                                          std::string(kMaxRegionNameBytes, 'x')};
  std::vector<RegionLayout> layouts;
  for (const std::string& name : names) layouts.push_back(Bytes(name, 5));
  const State state(layouts, 1);
  const absl::StatusOr<ShardRecord> record = WriteShard(PlaceIn(folder), 0, 1, state.Saved());
  ASSERT_TRUE(record.ok()) << record.status();
  State restored = state.Blank();
  const absl::Status read =
      ReadShard(ShardPath(PlaceIn(folder), 0, 1), *record, restored.Restored());
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(restored.memory(), state.memory());
}

void ExpectRefused(const RegionLayout& layout, const std::string& text) {
  const TemporaryFolder folder;
  const std::string memory(64, 'x');
  ExpectError(WriteShard(PlaceIn(folder), 0, 1, {{layout, memory.data()}}).status(),
              absl::StatusCode::kInvalidArgument, text);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Shard, RefusesRegionsThatItCannotWrite) {
  ExpectRefused(Bytes("__metadata__", 1), "'__metadata__'");
  ExpectRefused(Bytes(std::string(257, 'x'), 1), "257 bytes, more than 256");
  ExpectRefused(Bytes("\xff\xfe", 1), "isn't UTF-8");
  ExpectRefused(Bytes("cut \xc3", 1), "isn't UTF-8");
  RegionLayout layout = Floats("weights", {2, 3});
  layout.bytes = 20;
  ExpectRefused(layout, "'weights': has 20 bytes, but F32 [2, 3] is 24 bytes");
  layout.shape = {-1, -6};
  ExpectRefused(layout, "more than can be");
  layout.shape = {int64_t{1} << 40, int64_t{1} << 40, 0};
  ExpectRefused(layout, "more than can be");
  layout.shape = std::vector<int64_t>(65, 1);
  ExpectRefused(layout, "65 dimensions");
  layout.shape = {5};
  layout.type = static_cast<DataType>(99);
  ExpectRefused(layout, "no such type");
}

TEST(Shard, RefusesCallersMistakes) {
  const TemporaryFolder folder;
  const State state({Bytes("a", 4), Bytes("a", 4)}, 1);
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectError(WriteShard(PlaceIn(folder), 0, 1, state.Saved()).status(), kInvalid,
              "two of this name");
  ExpectError(WriteShard(PlaceIn(folder), 0, 1, {{Bytes("a", 4), nullptr}}).status(), kInvalid,
              "'a': no memory");
  ExpectError(WriteShard(PlaceIn(folder), 4, 4, {}).status(), kInvalid, "no rank 4 of 4");
  ExpectError(WriteShard(PlaceIn(folder), 0, kMaxRanks + 1, {}).status(), kInvalid,
              "at most 65536");
  VersionPlace place = PlaceIn(folder);
  place.name = kInitialVersion;
  ExpectError(WriteShard(place, 0, 1, {}).status(), kInvalid, "isn't kept in files");
  for (const char* job : {"", ".", "..", "a/b", ".hidden", "a b"}) {
    place = PlaceIn(folder);
    place.job = job;
    ExpectError(WriteShard(place, 0, 1, {}).status(), kInvalid, "names no job");
  }
  place = PlaceIn(folder);
  place.folder += "/missing";
  ExpectError(WriteShard(place, 0, 1, {}).status(), absl::StatusCode::kNotFound,
              "missing: isn't there; make it, or mount it");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Shard, SaysWhichRegionDiffers) {
  const TemporaryFolder folder;
  const State state = State::OfRank(0);
  const absl::StatusOr<ShardRecord> record = WriteShard(PlaceIn(folder), 0, 1, state.Saved());
  ASSERT_TRUE(record.ok()) << record.status();
  const std::string path = ShardPath(PlaceIn(folder), 0, 1);
  const auto read = [&](std::vector<RegionLayout> layouts) {
    State restored = State(std::move(layouts), 0).Blank();
    const State before = restored;
    const absl::Status status = ReadShard(path, *record, restored.Restored());
    EXPECT_EQ(restored.memory(), before.memory());  // untouched
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return status;
  };
  constexpr auto kDiffers = absl::StatusCode::kFailedPrecondition;
  ExpectError(
      read({Floats("weights", {3, 8}), Bytes("optimizer", 37)}), kDiffers,
      "region 'weights': the program expects F32 [3, 8], 96 bytes, the file has F32 [3, 7], "
      "84 bytes");
  ExpectError(read({Floats("weights", {7, 3}), Bytes("optimizer", 37)}), kDiffers, "F32 [7, 3]");
  ExpectError(read({Floats("weights", {3, 7}), Bytes("optimizer", 36)}), kDiffers,
              "region 'optimizer': the program expects U8 [36], 36 bytes, the file has U8 [37]");
  ExpectError(read({Floats("weights", {3, 7})}), kDiffers,
              "holds region 'optimizer' (U8 [37], 37 bytes), which the program doesn't have");
  ExpectError(read({Floats("weights", {3, 7}), Bytes("optimizer", 37), Bytes("more", 1)}), kDiffers,
              "has no region 'more'");
  ExpectError(read({Bytes("a", 1), Bytes("a", 1)}), absl::StatusCode::kInvalidArgument, "twice");
}

TEST(Shard, IsReplacedUntilItsVersionIsCommitted) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteShard(PlaceIn(folder), 0, 1, State::OfRank(7).Saved()).ok());
  const Manifest manifest = SaveShards(PlaceIn(folder), 1);
  ASSERT_TRUE(WriteManifest(PlaceIn(folder), manifest).ok());
  ExpectError(WriteShard(PlaceIn(folder), 0, 1, State::OfRank(7).Saved()).status(),
              absl::StatusCode::kAlreadyExists, "is committed");
  EXPECT_TRUE(VerifyShard(ShardPath(PlaceIn(folder), 0, 1), manifest.shards[0]).ok());
}

TEST(Shard, RanksWriteAtOnce) {
  const TemporaryFolder folder;
  constexpr int kRanks = 8;
  Manifest manifest{.shards = std::vector<ShardRecord>(kRanks)};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const absl::StatusOr<ShardRecord> record =
          WriteShard(PlaceIn(folder), rank, kRanks, State::OfRank(rank).Saved());
      if (record.ok()) manifest.shards[static_cast<size_t>(rank)] = *record;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Status written = WriteManifest(PlaceIn(folder), manifest);
  ASSERT_TRUE(written.ok()) << written;
  for (int rank = 0; rank < kRanks; ++rank) {
    const State state = State::OfRank(rank);
    State restored = state.Blank();
    EXPECT_TRUE(ReadShard(ShardPath(PlaceIn(folder), rank, kRanks),
                          manifest.shards[static_cast<size_t>(rank)], restored.Restored())
                    .ok());
    EXPECT_EQ(restored.memory(), state.memory());
  }
}

// A process taken for dead may still write: whoever renames last, the file is one of the two.
TEST(Shard, TwoWritersOfOneRankNeverMix) {
  const TemporaryFolder folder;
  const State states[] = {State({Bytes("a", 3'000'000)}, 1), State({Bytes("a", 3'000'000)}, 2)};
  absl::StatusOr<ShardRecord> records[] = {absl::UnknownError(""), absl::UnknownError("")};
  std::thread other([&] { records[1] = WriteShard(PlaceIn(folder), 0, 1, states[1].Saved()); });
  records[0] = WriteShard(PlaceIn(folder), 0, 1, states[0].Saved());
  other.join();
  ASSERT_TRUE(records[0].ok() && records[1].ok());
  const std::string path = ShardPath(PlaceIn(folder), 0, 1);
  const int whole = static_cast<int>(VerifyShard(path, *records[0]).ok()) +
                    static_cast<int>(VerifyShard(path, *records[1]).ok());
  EXPECT_EQ(whole, 1);
}

}  // namespace
}  // namespace phalanx::checkpoint
