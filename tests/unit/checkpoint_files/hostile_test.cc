// Files that aren't what they should be: each is an error that names it, and nothing else happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "checkpoint_digest/digest.h"
#include "support.h"

namespace phalanx::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    Save(place_, 2);
    found_ = List(folder_.path()).at(0);
    shard_ = ReadFile(path_);
    manifest_ = ReadFile(manifest_path_);
  }

  absl::Status Read() {
    State restored = State::OfRank(0).Blank();
    return ReadShard(path_, found_.manifest.shards[0], restored.Restored());
  }
  // As if the manifest named these very bytes, but for the digest, so that it never succeeds.
  absl::Status ReadAsNamed(const std::string& file) {
    WriteFile(path_, file);
    const ShardRecord record{.bytes = file.size(), .crc32c = Crc32c(file.data(), file.size())};
    const absl::Status verified = VerifyShard(path_, record);
    const absl::Status layout = ReadShardLayout(path_, record).status();
    if (!layout.ok()) {
      EXPECT_EQ(layout, verified);
    }
    return verified;
  }
  void ExpectHeaderRefused(const std::string& json, const std::string& text,
                           size_t data_bytes = 8) {
    std::string file(8, '\0');
    for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(json.size() >> 8 * i & 0xff);
    const absl::Status status = ReadAsNamed(file + json + std::string(data_bytes, 'x'));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << json;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr(text))) << json;
  }
  // The one version's state after its manifest was replaced.
  absl::Status StateWith(const std::string& manifest) {
    WriteFile(manifest_path_, manifest);
    const std::vector<FoundVersion> found = List(folder_.path());
    EXPECT_EQ(found.size(), 1u);
    EXPECT_FALSE(VerifyVersion(found.at(0)).empty());
    EXPECT_THAT(std::string(found.at(0).state.message()), HasSubstr(manifest_path_));
    return found.at(0).state;
  }
  std::string Replaced(const std::string& what, const std::string& with) const {
    std::string text = manifest_;
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, what.size(), with);
  }

  const TemporaryFolder folder_;
  const VersionPlace place_{
      .folder = folder_.path(), .job = "job", .name = {.version = 5, .epoch = 2}};
  const std::string path_ = ShardPath(place_, 0, 2);
  const std::string manifest_path_ = ManifestPath(place_);
  FoundVersion found_;
  std::string shard_;
  std::string manifest_;
};

TEST_F(Hostile, EveryFlippedBitOfAShardIsFound) {
  for (size_t bit = 0; bit < shard_.size() * 8; ++bit) {
    std::string changed = shard_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    WriteFile(path_, changed);
    EXPECT_EQ(VerifyShard(path_, found_.manifest.shards[0]).code(), absl::StatusCode::kDataLoss)
        << bit;
    EXPECT_FALSE(Read().ok()) << bit;
  }
  WriteFile(path_, shard_);
  EXPECT_TRUE(Read().ok());
}

TEST_F(Hostile, EveryFlippedBitOfAManifestIsFound) {
  for (size_t bit = 0; bit < manifest_.size() * 8; ++bit) {
    std::string changed = manifest_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    WriteFile(manifest_path_, changed);
    const absl::StatusOr<Manifest> read = ReadManifest(place_);
    // A space may become another kind of space.
    if (read.ok()) {
      EXPECT_TRUE(absl::ascii_isspace(static_cast<unsigned char>(changed[bit / 8]))) << bit;
      EXPECT_EQ(*read, found_.manifest);
    }
  }
}

TEST_F(Hostile, EveryTruncationIsFound) {
  for (size_t bytes = 0; bytes < shard_.size(); ++bytes) {
    const absl::Status as_named = ReadAsNamed(shard_.substr(0, bytes));
    EXPECT_EQ(as_named.code(), absl::StatusCode::kDataLoss) << bytes;
    const absl::Status status = Read();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bytes;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat(path_, ": has ", bytes, " bytes, its manifest says ",
                                       shard_.size())));
  }
  WriteFile(path_, shard_ + "x");
  EXPECT_EQ(Read().code(), absl::StatusCode::kDataLoss);
  WriteFile(path_, shard_);
  for (size_t bytes = 0; bytes + 1 < manifest_.size(); ++bytes) {
    EXPECT_EQ(StateWith(manifest_.substr(0, bytes)).code(), absl::StatusCode::kDataLoss) << bytes;
  }
}

TEST_F(Hostile, LengthsOfHeaders) {
  const auto with_length = [](uint64_t length) {
    std::string file(8, '\0');
    for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(length >> 8 * i & 0xff);
    return file + "{}      ";
  };
  for (const uint64_t length :
       {uint64_t{9}, uint64_t{1} << 31, uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_THAT(std::string(ReadAsNamed(with_length(length)).message()),
                HasSubstr("its header is to have"));
  }
  EXPECT_THAT(std::string(ReadAsNamed("1234567").message()), HasSubstr("too few"));
  // A header that is there, but longer than is read.
  EXPECT_THAT(
      std::string(ReadAsNamed(with_length(kMaxHeaderBytes + 1) + std::string(kMaxHeaderBytes, ' '))
                      .message()),
      HasSubstr("at most 16777216 are read"));
}

TEST_F(Hostile, Headers) {
  const auto region = [](const std::string& rest) {
    return "{\"a\":{\"dtype\":\"U8\"," + rest + "}}";
  };
  ExpectHeaderRefused("", "isn't JSON");
  ExpectHeaderRefused("{", "isn't JSON");
  ExpectHeaderRefused("[]", "isn't a JSON object");
  ExpectHeaderRefused("{\"\xff\":1}", "isn't JSON");
  ExpectHeaderRefused(std::string(100'000, '['), "isn't JSON");
  ExpectHeaderRefused("{\"a\":" + std::string(50'000, '[') + std::string(50'000, ']') + "}", "'a'");
  ExpectHeaderRefused("{}", "its regions have 0 bytes, the file has 8");
  ExpectHeaderRefused("{\"a\":1}", "region 'a': isn't an object");
  ExpectHeaderRefused("{\"__metadata__\":{\"a\":1}}", "isn't texts");
  ExpectHeaderRefused(region("\"shape\":[8],\"data_offsets\":[0,8],\"more\":1"), "isn't an object");
  ExpectHeaderRefused(region("\"shape\":8,\"data_offsets\":[0,8]"), "has no shape");
  ExpectHeaderRefused(region("\"shape\":[-8],\"data_offsets\":[0,8]"), "has no shape");
  ExpectHeaderRefused(region("\"shape\":[8.0],\"data_offsets\":[0,8]"), "has no shape");
  ExpectHeaderRefused(region("\"shape\":[99999999999999999999],\"data_offsets\":[0,8]"),
                      "has no shape");
  ExpectHeaderRefused(region("\"shape\":[8],\"data_offsets\":[0]"), "has no data_offsets");
  ExpectHeaderRefused(region("\"shape\":[8],\"data_offsets\":[0,-8]"), "has no data_offsets");
  ExpectHeaderRefused(region("\"shape\":[8],\"data_offsets\":[8,0]"), "ends before it begins");
  ExpectHeaderRefused(region("\"shape\":[7],\"data_offsets\":[0,8]"), "has 8 bytes, but U8 [7]");
  ExpectHeaderRefused(region("\"shape\":[9],\"data_offsets\":[0,9]"), "regions have 9 bytes");
  ExpectHeaderRefused(region("\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"),
                      "more than can be");
  ExpectHeaderRefused(region("\"shape\":[18446744073709551615],\"data_offsets\":[0,8]"),
                      "no shape");
  ExpectHeaderRefused("{\"a\":{\"dtype\":\"X7\",\"shape\":[8],\"data_offsets\":[0,8]}}",
                      "the unknown type 'X7'");
}

TEST_F(Hostile, RegionsThatOverlapOrLeaveGaps) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + first +
           "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + second + "}}";
  };
  ExpectHeaderRefused(two("[0,4]", "[0,4]"), "begins at 0 of the data, where 4 is next");
  ExpectHeaderRefused(two("[0,4]", "[2,6]"), "region 'b': begins at 2 of the data, where 4");
  ExpectHeaderRefused(two("[0,4]", "[5,9]"), "begins at 5 of the data, where 4", 9);
  ExpectHeaderRefused(two("[4,8]", "[8,12]"), "begins at 4 of the data, where 0", 12);
  ExpectHeaderRefused(
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
      "has 'a' twice");
}

TEST_F(Hostile, FilesThatAreNone) {
  std::filesystem::remove(path_);
  EXPECT_EQ(Read().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(List(folder_.path()).at(0).state.message()), HasSubstr(path_));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Read().message()), HasSubstr("isn't a file"));  // and doesn't block
  EXPECT_THAT(std::string(List(folder_.path()).at(0).state.message()), HasSubstr("isn't a file"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(std::string(Read().message()), HasSubstr("isn't a file"));
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("loop", folder_.path() + "/loop");
  std::filesystem::create_symlink(folder_.path() + "/loop", path_);
  EXPECT_THAT(std::string(Read().message()), HasSubstr(path_));
  // One that leads to the bytes is as good as the file.
  std::filesystem::remove(path_);
  WriteFile(folder_.path() + "/elsewhere", shard_);
  std::filesystem::create_symlink("../../elsewhere", path_);
  EXPECT_TRUE(Read().ok());
  EXPECT_TRUE(List(folder_.path()).at(0).state.ok());
}

TEST_F(Hostile, Manifests) {
  constexpr auto kDamaged = absl::StatusCode::kDataLoss;
  EXPECT_EQ(StateWith("").code(), kDamaged);
  EXPECT_EQ(StateWith("null").code(), kDamaged);
  EXPECT_EQ(StateWith("{}").code(), kDamaged);
  EXPECT_EQ(StateWith(std::string(1 << 20, '{')).code(), kDamaged);
  EXPECT_EQ(StateWith(std::string(200'000, '[') + std::string(200'000, ']')).code(), kDamaged);
  EXPECT_EQ(StateWith(std::string((16 << 20) + 1, ' ')).code(), kDamaged);
  EXPECT_THAT(std::string(StateWith(Replaced("\"epoch\": 2", "\"epoch\": 3")).message()),
              HasSubstr("its own checksum is another"));
  EXPECT_EQ(StateWith(Replaced("\"format_version\": 1", "\"format_version\": 2")).code(),
            absl::StatusCode::kUnimplemented);
  std::filesystem::remove(manifest_path_);
  EXPECT_TRUE(List(folder_.path()).empty());
}

TEST_F(Hostile, AManifestInAnotherFolderIsNotItsOwn) {
  const VersionPlace other{
      .folder = folder_.path(), .job = "job", .name = {.version = 6, .epoch = 2}};
  std::filesystem::copy(PathOf(place_), PathOf(other));
  const std::vector<FoundVersion> found = List(folder_.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place, other);
  EXPECT_THAT(std::string(found[0].state.message()),
              HasSubstr("is of version 5 of epoch 2 of job 'job', not of the folder"));
  EXPECT_TRUE(found[1].state.ok());
}

TEST_F(Hostile, RandomChanges) {
  const char* given = std::getenv("PHALANX_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10))
                                         : std::random_device()();
  std::cout << "PHALANX_TEST_SEED=" << seed << "\n";
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = shard_;
    // Mostly in the header, where there is most to get wrong.
    const size_t range = i % 4 == 0 ? changed.size() : changed.size() - 121;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % std::min(range, changed.size());
      if (random() % 3 == 0) changed.erase(at, 1 + random() % 5);
      if (random() % 3 == 0)
        changed.insert(at, changed.substr(random() % changed.size(), random() % 20));
      if (at < changed.size()) changed[at] = static_cast<char>(random());
    }
    if (changed != shard_) {
      EXPECT_FALSE(ReadAsNamed(changed).ok());
    }
    WriteFile(path_, changed);
    EXPECT_EQ(Read().ok(), changed == shard_);
  }
}

}  // namespace
}  // namespace phalanx::checkpoint
