// A process is killed before each of its system calls while it saves, commits or removes a version:
// a version is whole or doesn't exist, the one before stays, and the next attempt gets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "support.h"

namespace phalanx::checkpoint {
namespace {

using testing::IsEmpty;

VersionPlace PlaceIn(const std::string& folder, int64_t version) {
  return {.folder = folder, .job = "job", .name = {.version = version, .epoch = 1}};
}

// Without GoogleTest: it runs in a child.
bool SaveVersion(const std::string& folder, int64_t version) {
  Manifest manifest{.committed_unix_ms = version};
  for (int rank = 0; rank < 2; ++rank) {
    absl::StatusOr<ShardRecord> record =
        WriteShard(PlaceIn(folder, version), rank, 2, State::OfRank(rank).Saved());
    if (!record.ok()) return false;
    manifest.shards.push_back(*record);
  }
  return WriteManifest(PlaceIn(folder, version), manifest).ok();
}

enum class Ending { kKilled, kFinished, kFailed, kNoTracing };

// Forks, and kills the child as it enters its system call number `killed_at` of `work`.
Ending RunAndKill(int killed_at, const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return Ending::kNoTracing;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool entering = false;
  for (int calls = 0;;) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? Ending::kFinished : Ending::kFailed;
    if (WIFSIGNALED(status)) return Ending::kFailed;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    entering = !entering;
    if (!entering || calls++ < killed_at) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return Ending::kKilled;
  }
}

void ExpectWhole(const FoundVersion& found) {
  EXPECT_TRUE(found.state.ok()) << found.state;
  EXPECT_THAT(VerifyVersion(found), IsEmpty());
  for (int rank = 0; rank < 2; ++rank) {
    const State state = State::OfRank(rank);
    State restored = state.Blank();
    const absl::Status read =
        ReadShard(ShardPath(found.place, rank, 2),
                  found.manifest.shards.at(static_cast<size_t>(rank)), restored.Restored());
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_EQ(restored.memory(), state.memory());
  }
}

// Runs `work` on a folder with versions 1 to `versions`, killed at each of its calls; after each,
// `check` looks at the folder. Returns the number of calls.
int KillEverywhere(int versions, const std::function<bool(const std::string&)>& work,
                   const std::function<void(const std::string&, Ending)>& check) {
  for (int killed_at = 0;; ++killed_at) {
    const TemporaryFolder folder;
    for (int version = 1; version <= versions; ++version) {
      EXPECT_TRUE(SaveVersion(folder.path(), version));
    }
    const Ending ending = RunAndKill(killed_at, [&] { return work(folder.path()); });
    if (ending == Ending::kNoTracing) return 0;
    SCOPED_TRACE(absl::StrCat("killed at call ", killed_at));
    EXPECT_NE(ending, Ending::kFailed);
    check(folder.path(), ending);
    if (ending != Ending::kKilled || testing::Test::HasFailure()) return killed_at;
  }
}

TEST(Crash, WhileAVersionIsSaved) {
  int unfinished = 0;
  int finished = 0;
  const int calls = KillEverywhere(
      1, [](const std::string& folder) { return SaveVersion(folder, 2); },
      [&](const std::string& folder, Ending ending) {
        const std::vector<FoundVersion> found = List(folder);
        ASSERT_GE(found.size(), 1u);
        EXPECT_EQ(found.back().place.name.version, 1);
        for (const FoundVersion& version : found) ExpectWhole(version);
        ++(found.size() == 1 ? unfinished : finished);
        if (ending == Ending::kFinished) {
          EXPECT_EQ(found.size(), 2u);
        }
        // The next attempt, of a version that isn't there or one that follows it.
        EXPECT_TRUE(SaveVersion(folder, found.size() == 1 ? 2 : 3));
        EXPECT_TRUE(RemoveOldVersions(folder, "job", 1).ok());
        const std::vector<FoundVersion> kept = List(folder);
        ASSERT_EQ(kept.size(), 1u);
        ExpectWhole(kept[0]);
        // Of what was left half written there is nothing.
        int folders = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder + "/job")) {
          folders += entry.is_directory() ? 1 : 0;
        }
        EXPECT_EQ(folders, 1);
      });
  if (calls == 0) GTEST_SKIP() << "this process may not trace its children";
  EXPECT_GT(unfinished, 20);
  EXPECT_GT(finished, 1);
}

TEST(Crash, WhileOldVersionsAreRemoved) {
  int kept_sizes[4] = {0, 0, 0, 0};
  const int calls = KillEverywhere(
      3, [](const std::string& folder) { return RemoveOldVersions(folder, "job", 1).ok(); },
      [&](const std::string& folder, Ending ending) {
        const std::vector<FoundVersion> found = List(folder);
        ASSERT_GE(found.size(), 1u);
        ASSERT_LE(found.size(), 3u);
        EXPECT_EQ(found[0].place.name.version, 3);
        for (const FoundVersion& version : found) ExpectWhole(version);
        ++kept_sizes[found.size()];
        if (ending == Ending::kFinished) {
          EXPECT_EQ(found.size(), 1u);
        }
        EXPECT_TRUE(RemoveOldVersions(folder, "job", 1).ok());
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder + "/job"), {}), 1);
      });
  if (calls == 0) GTEST_SKIP() << "this process may not trace its children";
  for (const int count : {kept_sizes[1], kept_sizes[2], kept_sizes[3]}) EXPECT_GT(count, 1);
}

// The disk is full, or a quota is: the call says so, and what it had begun is gone.
TEST(Crash, NoRoom) {
  const TemporaryFolder folder;
  ASSERT_TRUE(SaveVersion(folder.path(), 1));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(77);
    const State state({Bytes("a", 2000)}, 1);
    const absl::Status status = WriteShard(PlaceIn(folder.path(), 2), 0, 1, state.Saved()).status();
    _exit(!status.ok() && std::string(status.message()).find("writing") != std::string::npos ? 0
                                                                                             : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(std::filesystem::is_empty(PathOf(PlaceIn(folder.path(), 2))));
  EXPECT_EQ(List(folder.path()).size(), 1u);
}

}  // namespace
}  // namespace phalanx::checkpoint
