// Folders and shards for the tests of the persistent tier.
#ifndef PHALANX_TESTS_UNIT_CHECKPOINT_FILES_SUPPORT_H_
#define PHALANX_TESTS_UNIT_CHECKPOINT_FILES_SUPPORT_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint_files/manifest.h"
#include "checkpoint_files/shard.h"
#include "checkpoint_files/versions.h"

namespace phalanx::checkpoint {

// A folder of this test alone, gone with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "/checkpoint_files.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteFile(const std::string& path, const std::string& text) {
  // Some file systems sync a file that is cut to nothing and written again.
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

inline std::string Pattern(size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>(((i + 1) * 2654435761u + seed * 40503u) >> 13);
  }
  return text;
}

inline RegionLayout Bytes(std::string name, uint64_t bytes) {
  return {.name = std::move(name), .type = {}, .shape = {}, .bytes = bytes};
}

inline RegionLayout Floats(std::string name, std::vector<int64_t> shape) {
  uint64_t bytes = 4;
  for (const int64_t dimension : shape) bytes *= static_cast<uint64_t>(dimension);
  return {.name = std::move(name),
          .type = DataType::kFloat32,
          .shape = std::move(shape),
          .bytes = bytes};
}

// A rank's memory: regions with something in them.
class State {
 public:
  State(std::vector<RegionLayout> layouts, unsigned seed) : layouts_(std::move(layouts)) {
    for (const RegionLayout& layout : layouts_) memory_.push_back(Pattern(layout.bytes, seed++));
  }
  // Of two regions.
  static State OfRank(int rank) {
    return State({Floats("weights", {3, 7}), Bytes("optimizer", 37)},
                 static_cast<unsigned>(rank) * 100);
  }
  State Blank() const {
    State blank(layouts_, 0);
    for (std::string& memory : blank.memory_) memory.assign(memory.size(), '\x5a');
    return blank;
  }

  std::vector<SavedRegion> Saved() const {
    std::vector<SavedRegion> regions;
    for (size_t i = 0; i < layouts_.size(); ++i)
      regions.push_back({layouts_[i], memory_[i].data()});
    return regions;
  }
  std::vector<RestoredRegion> Restored() {
    std::vector<RestoredRegion> regions;
    for (size_t i = 0; i < layouts_.size(); ++i)
      regions.push_back({layouts_[i], memory_[i].data()});
    return regions;
  }
  const std::vector<std::string>& memory() const { return memory_; }
  std::string Concatenated() const {
    std::string all;
    for (const std::string& memory : memory_) all += memory;
    return all;
  }

 private:
  std::vector<RegionLayout> layouts_;
  std::vector<std::string> memory_;
};

// Writes the shards of ranks 0 to `ranks` - 1, each State::OfRank, without a manifest.
inline Manifest SaveShards(const VersionPlace& place, int ranks, int64_t committed_unix_ms = 1) {
  Manifest manifest{.committed_unix_ms = committed_unix_ms};
  for (int rank = 0; rank < ranks; ++rank) {
    const absl::StatusOr<ShardRecord> record =
        WriteShard(place, rank, ranks, State::OfRank(rank).Saved());
    EXPECT_TRUE(record.ok()) << record.status();
    if (record.ok()) manifest.shards.push_back(*record);
  }
  return manifest;
}

inline void Save(const VersionPlace& place, int ranks, int64_t committed_unix_ms = 1) {
  const absl::Status status = WriteManifest(place, SaveShards(place, ranks, committed_unix_ms));
  EXPECT_TRUE(status.ok()) << status;
}

inline std::vector<FoundVersion> List(const std::string& folder) {
  absl::StatusOr<std::vector<FoundVersion>> versions = ListVersions(folder);
  EXPECT_TRUE(versions.ok()) << versions.status();
  if (!versions.ok()) return {};
  return *std::move(versions);
}

}  // namespace phalanx::checkpoint

#endif  // PHALANX_TESTS_UNIT_CHECKPOINT_FILES_SUPPORT_H_
