#include "control_supervisor/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace phalanx::control {
namespace {

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/program_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* folder : {"first", "second", "beside"}) {
      std::filesystem::create_directory(root_ + "/" + folder);
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Make(const std::string& path, mode_t mode) {
    std::ofstream(root_ + "/" + path) << "#!/bin/sh\n";
    ASSERT_EQ(chmod((root_ + "/" + path).c_str(), mode), 0);
  }
  absl::StatusOr<std::string> Find(const std::string& name) {
    return FindUserProgram(name, root_ + "/first:" + root_ + "/second", {root_ + "/beside"});
  }

  std::string root_;
};

TEST_F(ProgramTest, LooksInPathThenBeside) {
  Make("second/tool", 0755);
  Make("beside/tool", 0755);
  Make("beside/example", 0755);
  EXPECT_EQ(*Find("tool"), root_ + "/second/tool");
  EXPECT_EQ(*Find("example"), root_ + "/beside/example");
}

TEST_F(ProgramTest, SkipsWhatCantBeExecuted) {
  Make("first/tool", 0644);
  Make("second/tool", 0755);
  EXPECT_EQ(*Find("tool"), root_ + "/second/tool");
}

TEST_F(ProgramTest, TellsMissingFromNotExecutable) {
  Make("first/text", 0644);
  EXPECT_EQ(Find("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Find("text").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Find(root_ + "/first/text").status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Find(root_ + "/first/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Find("").status().code(), absl::StatusCode::kNotFound);
  const absl::Status folder = Find(root_ + "/first").status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(folder.message().find("is a directory"), absl::string_view::npos) << folder;
}

TEST_F(ProgramTest, SlashMeansThatFile) {
  Make("second/tool", 0755);
  EXPECT_EQ(*Find(root_ + "/second/tool"), root_ + "/second/tool");
  EXPECT_FALSE(Find("./tool").ok());
}

TEST(Program, FoldersOfBuildTreeAndInstalledTree) {
  EXPECT_EQ(FoldersBeside("/opt/bin/phalanx"),
            (std::vector<std::string>{"/opt/bin", "/opt/bin/../libexec/phalanx"}));
}

}  // namespace
}  // namespace phalanx::control
