// `phalanx checkpoint` as a user meets it, on folders that the room's own writer has made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint_files/versions.h"
#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using checkpoint::VersionPlace;
using testing::HasSubstr;
using testing::Not;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class CheckpointCommand : public testing::Test {
 protected:
  CheckpointCommand() {
    std::string name = testing::TempDir() + "/checkpoint_command.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ + "/checkpoints";
    std::filesystem::create_directory(folder_);
  }
  ~CheckpointCommand() override { std::filesystem::remove_all(root_); }

  VersionPlace Place(const std::string& job, int64_t version, uint64_t epoch) const {
    return {.folder = folder_, .job = job, .name = {.version = version, .epoch = epoch}};
  }
  void Save(const VersionPlace& place, int64_t committed_unix_ms) const {
    checkpoint::Manifest manifest{.committed_unix_ms = committed_unix_ms};
    for (int rank = 0; rank < 2; ++rank) {
      const std::string memory(100, static_cast<char>('a' + rank));
      const auto record = checkpoint::WriteShard(
          place, rank, 2,
          {{{.name = "weights", .type = DataType::kFloat32, .shape = {5, 5}, .bytes = 100},
            memory.data()}});
      ASSERT_TRUE(record.ok()) << record.status();
      manifest.shards.push_back(*record);
    }
    ASSERT_TRUE(checkpoint::WriteManifest(place, manifest).ok());
  }
  std::string FlipABit(const VersionPlace& place) const {
    const std::string path = checkpoint::ShardPath(place, 1, 2);
    std::string file = ReadFile(path);
    file.back() = static_cast<char>(file.back() ^ 1);
    std::ofstream(path, std::ios::binary) << file;
    return path;
  }

  // Standard output; the exit code must be this, and standard error hold `error`.
  std::string Run(std::vector<std::string> words, int exit_code, const std::string& error = "") {
    words.insert(words.begin(), {PHALANX_COMMAND, "checkpoint"});
    Subprocess run(words);
    EXPECT_EQ(run.AwaitExitCode(), exit_code) << run.error();
    if (error.empty()) {
      EXPECT_EQ(run.error(), "");
    } else {
      EXPECT_THAT(run.error(), HasSubstr(error));
    }
    return run.output();
  }

  std::string root_;
  std::string folder_;
};

TEST_F(CheckpointCommand, Lists) {
  EXPECT_EQ(Run({"ls", folder_}, 0), "no versions\n");
  EXPECT_EQ(Run({"ls", folder_, "--json"}, 0), "[]\n");
  Save(Place("first", 120, 1), 1000);
  Save(Place("second", 40, 1), 2000);
  Save(Place("second", 50, 3), 3000);
  std::filesystem::remove(checkpoint::ShardPath(Place("second", 50, 3), 0, 2));
  const std::string table = Run({"ls", folder_}, 0);
  EXPECT_THAT(table, HasSubstr("job         version    epoch  ranks           bytes  state\n"));
  EXPECT_THAT(table, HasSubstr("second           50        3      2             520  damaged: " +
                               checkpoint::ShardPath(Place("second", 50, 3), 0, 2)));
  EXPECT_THAT(table,
              HasSubstr("second           40        1      2             520  complete, newest\n"));
  EXPECT_THAT(table, HasSubstr("first           120        1      2             520  complete\n"));
  EXPECT_THAT(Run({"ls", folder_, "--job", "first"}, 0), Not(HasSubstr("second")));
  const nlohmann::json json = nlohmann::json::parse(Run({"ls", folder_, "--json"}, 0));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["state"], "damaged");
  EXPECT_THAT(json[0]["problem"].get<std::string>(), HasSubstr("rank-00000-of-00002"));
  EXPECT_EQ(json[0]["newest"], false);
  EXPECT_EQ(json[1]["job"], "second");
  EXPECT_EQ(json[1]["version"], 40);
  EXPECT_EQ(json[1]["epoch"], 1);
  EXPECT_EQ(json[1]["ranks"], 2);
  EXPECT_EQ(json[1]["newest"], true);
  EXPECT_EQ(json[1]["committed_unix_ms"], 2000);
  EXPECT_EQ(json[2]["newest"], false);
}

TEST_F(CheckpointCommand, Verifies) {
  Save(Place("job", 1, 1), 1);
  Save(Place("job", 2, 1), 2);
  EXPECT_EQ(Run({"verify", folder_}, 0),
            "version 2 of epoch 1 of job job: whole\nversion 1 of epoch 1 of job job: whole\n");
  const std::string path = FlipABit(Place("job", 2, 1));
  EXPECT_EQ(Run({"verify", folder_}, 1, path + ": isn't what was saved"),
            "version 2 of epoch 1 of job job: damaged\nversion 1 of epoch 1 of job job: whole\n");
  EXPECT_EQ(Run({"verify", folder_, "--version", "1"}, 0),
            "version 1 of epoch 1 of job job: whole\n");
  Run({"verify", folder_, "--version", "2"}, 1, path);
  Run({"verify", folder_, "--version", "3"}, 1, "holds no version 3");
  Run({"verify", folder_, "--job", "other"}, 1, "holds no version of job 'other'");
  std::ofstream(checkpoint::ManifestPath(Place("job", 1, 1))) << "garbage";
  Run({"verify", folder_, "--version", "1"}, 1, "manifest.json: isn't JSON");
}

TEST_F(CheckpointCommand, Exports) {
  Save(Place("job", 7, 1), 1);
  Save(Place("job", 7, 2), 2);
  const std::string output = root_ + "/output";
  EXPECT_EQ(Run({"export", folder_, "--version", "7", "--output", output}, 0),
            "version 7 of epoch 2 of job job: 2 files in " + output + "\n");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(output)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("rank-0-of-2.safetensors", "rank-1-of-2.safetensors"));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ReadFile(output + "/rank-" + std::to_string(rank) + "-of-2.safetensors"),
              ReadFile(checkpoint::ShardPath(Place("job", 7, 2), rank, 2)));
  }
  Run({"export", folder_, "--version", "7", "--output", output}, 1, "nothing is overwritten");
  Run({"export", folder_, "--version", "7", "--epoch", "1", "--output", root_ + "/old"}, 0);
  EXPECT_THAT(ReadFile(root_ + "/old/rank-0-of-2.safetensors"), HasSubstr("\"epoch\":\"1\""));
  const std::string path = FlipABit(Place("job", 7, 2));
  Run({"export", folder_, "--version", "7", "--output", root_ + "/damaged"}, 1, path);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/damaged"));
  Save(Place("other", 7, 1), 3);
  Run({"export", folder_, "--version", "7", "--output", root_ + "/two"}, 2,
      "several jobs have version 7; choose with --job:\n  other\n  job\n");
  Run({"export", folder_, "--version", "7", "--job", "other", "--output", root_ + "/two"}, 0);
}

TEST_F(CheckpointCommand, SaysWhatIsWrong) {
  Run({}, 2, "subcommand");
  Run({"ls"}, 2, "DIR is required");
  Run({"ls", folder_ + "/missing"}, 2, "missing");
  Run({"verify", folder_}, 1, "holds no version");
  Run({"verify", folder_, "--version", "many"}, 2, "--version");
  Run({"verify", folder_, "--version", "-1"}, 2, "--version");
  Run({"verify", folder_, "--epoch", "1"}, 2, "--epoch requires --version");
  Run({"export", folder_, "--output", "x"}, 2, "--version is required");
  Run({"export", folder_, "--version", "1"}, 2, "--output is required");
  Run({"ls", folder_, "--colour"}, 2, "--colour");
}

TEST_F(CheckpointCommand, HelpNamesEveryOption) {
  const std::string help = Run({"--help"}, 0);
  for (const char* word : {"ls", "verify", "export", "Exit code"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
  EXPECT_THAT(Run({"ls", "--help"}, 0), HasSubstr("--json"));
  const std::string export_help = Run({"export", "--help"}, 0);
  for (const char* option : {"DIR", "--version", "--epoch", "--job", "--output"}) {
    EXPECT_THAT(export_help, HasSubstr(option));
  }
}

}  // namespace
}  // namespace phalanx::testing_support
