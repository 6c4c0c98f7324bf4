// What a folder holds: found, checked, exported, removed.
#include "checkpoint_files/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint_files/lineage.h"
#include "support.h"

namespace phalanx::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Versions : public testing::Test {
 protected:
  VersionPlace Place(const std::string& job, int64_t version, uint64_t epoch = 1) const {
    return {.folder = folder_.path(), .job = job, .name = {.version = version, .epoch = epoch}};
  }
  // "job/version.epoch" of each.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const FoundVersion& found : List(folder_.path())) {
      names.push_back(absl::StrCat(found.place.job, "/", found.place.name.version, ".",
                                   found.place.name.epoch, found.state.ok() ? "" : " damaged"));
    }
    return names;
  }
  static void FlipABit(const std::string& path) {
    std::string file = ReadFile(path);
    file.back() = static_cast<char>(file.back() ^ 4);
    WriteFile(path, file);
  }

  const TemporaryFolder folder_;
};

TEST_F(Versions, FoldersAndFilesAreNamedSo) {
  EXPECT_EQ(VersionFolderName({.version = 120, .epoch = 3}), "version-120-epoch-3");
  EXPECT_EQ(ShardFileName(3, 16), "rank-00003-of-00016.safetensors");
  EXPECT_EQ(ParseVersionFolderName("version-120-epoch-3"),
            (VersionName{.version = 120, .epoch = 3}));
  EXPECT_EQ(ParseVersionFolderName("version-0-epoch-18446744073709551615"),
            (VersionName{.version = 0, .epoch = ~uint64_t{0}}));
  for (const char* text :
       {"", "version-1-epoch", "version-01-epoch-1", "version--1-epoch-1", "version-1-epoch-1-",
        "version-+1-epoch-1", "version-1-epoch-18446744073709551616", "Version-1-epoch-1",
        "version- 1-epoch-1", "version-9223372036854775808-epoch-1"}) {
    EXPECT_EQ(ParseVersionFolderName(text), std::nullopt) << text;
  }
}

TEST_F(Versions, NewestFirst) {
  EXPECT_THAT(Names(), IsEmpty());
  Save(Place("job", 9), 2);
  Save(Place("job", 10), 2);
  Save(Place("job", 10, 2), 2);
  Save(Place("job", 100, 2), 2);
  EXPECT_THAT(Names(), ElementsAre("job/100.2", "job/10.2", "job/10.1", "job/9.1"));
  const FoundVersion newest = List(folder_.path()).at(0);
  EXPECT_EQ(newest.manifest.shards.size(), 2u);
  EXPECT_EQ(newest.Bytes(), std::filesystem::file_size(ShardPath(newest.place, 0, 2)) +
                                std::filesystem::file_size(ShardPath(newest.place, 1, 2)));
  EXPECT_THAT(VerifyVersion(newest), IsEmpty());
}

TEST_F(Versions, TheJobThatCommittedLastComesFirst) {
  Save(Place("old", 500), 1, /*committed_unix_ms=*/1000);
  Save(Place("new", 100), 1, /*committed_unix_ms=*/2000);
  Save(Place("old", 400), 1, /*committed_unix_ms=*/900);
  EXPECT_THAT(Names(), ElementsAre("new/100.1", "old/500.1", "old/400.1"));
}

TEST_F(Versions, OthersFilesAreNoVersions) {
  Save(Place("job", 1), 1);
  WriteFile(folder_.path() + "/notes", "text");
  WriteFile(folder_.path() + "/job/notes", "text");
  std::filesystem::create_directories(folder_.path() + "/.hidden/version-1-epoch-1");
  std::filesystem::create_directories(folder_.path() + "/job/version-2-epoch-1");
  std::filesystem::create_directories(folder_.path() + "/job/version-02-epoch-1");
  WriteFile(folder_.path() + "/job/version-02-epoch-1/manifest.json", "{}");
  std::filesystem::create_directories(folder_.path() + "/empty");
  EXPECT_THAT(Names(), ElementsAre("job/1.1"));
  EXPECT_EQ(ListVersions(folder_.path() + "/missing").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Versions, HalfWrittenOnesDoNotExist) {
  Save(Place("job", 1), 2);
  SaveShards(Place("job", 2), 2);
  EXPECT_THAT(Names(), ElementsAre("job/1.1"));
  WriteFile(PathOf(Place("job", 2)) + "/manifest.json.partial-0123", "{");
  EXPECT_THAT(Names(), ElementsAre("job/1.1"));
}

TEST_F(Versions, AManifestNeedsItsFiles) {
  const Manifest manifest = SaveShards(Place("job", 1), 2);
  const std::string path = ShardPath(Place("job", 1), 1, 2);
  const std::string file = ReadFile(path);
  std::filesystem::remove(path);
  absl::Status status = WriteManifest(Place("job", 1), manifest);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), HasSubstr("must be the same folder for all ranks"));
  WriteFile(path, file.substr(1));
  status = WriteManifest(Place("job", 1), manifest);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Names(), IsEmpty());
  WriteFile(path, file);
  EXPECT_TRUE(WriteManifest(Place("job", 1), manifest).ok());
  EXPECT_THAT(Names(), ElementsAre("job/1.1"));
}

TEST_F(Versions, AManifestIsWrittenOnce) {
  const Manifest manifest = SaveShards(Place("job", 1), 2);
  EXPECT_TRUE(WriteManifest(Place("job", 1), manifest).ok());
  Manifest again = manifest;
  again.committed_unix_ms = 99;  // a coordinator that took over repeats it at another time
  EXPECT_TRUE(WriteManifest(Place("job", 1), again).ok());
  EXPECT_EQ(ReadManifest(Place("job", 1))->committed_unix_ms, manifest.committed_unix_ms);
  again.shards[0].digest.low ^= 1;
  EXPECT_EQ(WriteManifest(Place("job", 1), again).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(WriteManifest(Place("job", 2), {}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Versions, VerifyNamesAllThatIsWrong) {
  Save(Place("job", 1), 4);
  const std::vector<std::string> paths = {ShardPath(Place("job", 1), 1, 4),
                                          ShardPath(Place("job", 1), 2, 4)};
  FlipABit(paths[0]);
  std::filesystem::remove(paths[1]);
  EXPECT_THAT(Names(), ElementsAre("job/1.1 damaged"));
  const std::vector<absl::Status> faults = VerifyVersion(List(folder_.path()).at(0));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(faults[0].message()), HasSubstr(paths[0] + ": isn't what was saved"));
  EXPECT_EQ(faults[1].code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(faults[1].message()), HasSubstr(paths[1]));
}

TEST_F(Versions, ExportIsACheckedCopy) {
  Save(Place("job", 1), 11);
  const std::string output = folder_.path() + "/output";
  const FoundVersion found = List(folder_.path()).at(0);
  ASSERT_TRUE(ExportVersion(found, output + "/").ok());
  for (int rank = 0; rank < 11; ++rank) {
    const std::string name =
        absl::StrCat("/rank-", rank < 10 ? "0" : "", rank, "-of-11.safetensors");
    EXPECT_EQ(ReadFile(output + name), ReadFile(ShardPath(found.place, rank, 11)));
  }
  EXPECT_EQ(ExportVersion(found, output).code(), absl::StatusCode::kAlreadyExists);
  const std::string damaged = ShardPath(found.place, 5, 11);
  FlipABit(damaged);
  const absl::Status status = ExportVersion(found, output + "2");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(damaged));
  EXPECT_EQ(ExportVersion(found, folder_.path() + "/no/where").code(), absl::StatusCode::kNotFound);
  // Nothing is left of those that failed.
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("job", "output"));
}

TEST_F(Versions, OldOnesAreRemoved) {
  Save(Place("other", 1), 1);
  for (const int64_t version : {1, 2, 3, 5, 6}) Save(Place("job", version), 2);
  SaveShards(Place("job", 4), 2);  // left by a crash
  SaveShards(Place("job", 7), 2);  // being written
  FlipABit(ShardPath(Place("job", 3), 0, 2));
  WriteFile(PathOf(Place("job", 1)) + "/notes", "somebody else's");
  EXPECT_TRUE(RemoveOldVersions(folder_.path(), "job", 6).ok());
  EXPECT_EQ(Names().size(), 6u);
  EXPECT_TRUE(RemoveOldVersions(folder_.path(), "job", 2).ok());
  EXPECT_THAT(Names(), ElementsAre("job/6.1", "job/5.1", "other/1.1"));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/job")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("version-1-epoch-1", "version-5-epoch-1",
                                                   "version-6-epoch-1", "version-7-epoch-1"));
  EXPECT_EQ(ReadFile(PathOf(Place("job", 1)) + "/notes"), "somebody else's");
  EXPECT_EQ(RemoveOldVersions(folder_.path(), "job", 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RemoveOldVersions(folder_.path(), "../job", 1).code(),
            absl::StatusCode::kInvalidArgument);
}

// A damaged version doesn't count among those that are kept: it may be all that the newest are.
TEST_F(Versions, DamagedOnesDoNotPushGoodOnesOut) {
  for (const int64_t version : {1, 2, 3}) Save(Place("job", version), 2);
  std::filesystem::remove(ShardPath(Place("job", 3), 1, 2));
  WriteFile(ManifestPath(Place("job", 2)), "garbage");
  EXPECT_TRUE(RemoveOldVersions(folder_.path(), "job", 1).ok());
  EXPECT_THAT(Names(), ElementsAre("job/3.1 damaged", "job/2.1 damaged", "job/1.1"));
}

TEST_F(Versions, AJobGoesOnFromTheOneThatCommittedLast) {
  Save(Place("first", 100), 1, /*committed_unix_ms=*/1000);
  Save(Place("first", 90), 1, /*committed_unix_ms=*/900);
  Save(Place("first", 80), 1, /*committed_unix_ms=*/800);
  // The one of 100 couldn't be read then.
  Save(Place("second", 95), 1, /*committed_unix_ms=*/2000);
  Save(Place("second", 91), 1, /*committed_unix_ms=*/1900);
  std::filesystem::remove(ShardPath(Place("first", 90), 0, 1));
  std::vector<std::string> names;
  for (const FoundVersion& found : Lineage(List(folder_.path()))) {
    names.push_back(absl::StrCat(found.place.job, "/", found.place.name.version));
  }
  EXPECT_THAT(names, ElementsAre("second/95", "second/91", "first/80"));
}

TEST_F(Versions, WhatAnEarlierJobLeftGoesOnceThereIsEnoughOfThisOne) {
  Save(Place("first", 100), 1, /*committed_unix_ms=*/1000);
  SaveShards(Place("first", 110), 1);
  Save(Place("beside", 5), 1, /*committed_unix_ms=*/9000);
  Save(Place("job", 101), 1, /*committed_unix_ms=*/2000);
  EXPECT_TRUE(RemoveSuperseded(folder_.path(), "job", 2).ok());
  EXPECT_THAT(Names(), ElementsAre("beside/5.1", "job/101.1", "first/100.1"));
  Save(Place("job", 102), 1, /*committed_unix_ms=*/3000);
  Save(Place("job", 103), 1, /*committed_unix_ms=*/4000);
  EXPECT_TRUE(RemoveSuperseded(folder_.path(), "job", 2).ok());
  EXPECT_THAT(Names(), ElementsAre("beside/5.1", "job/103.1", "job/102.1"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/first"));
  EXPECT_EQ(RemoveSuperseded(folder_.path(), "job", 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RemoveJob(folder_.path(), "..").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace phalanx::checkpoint
