#include "control_supervisor/spawn.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace phalanx::control {
namespace {

SpawnRequest Shell(const std::string& script) {
  SpawnRequest request;
  request.file = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.environment = {"NAME=value"};
  return request;
}

std::string ReadAll(const Fd& fd) {
  std::string text;
  char bytes[256];
  ssize_t count;
  while ((count = read(fd.get(), bytes, sizeof(bytes))) > 0) {
    text.append(bytes, static_cast<size_t>(count));
  }
  return text;
}

int Reap(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

TEST(Spawn, GivesArgumentsEnvironmentAndFolder) {
  SpawnRequest request = Shell("pwd; echo $NAME; echo problem >&2; cat; exit 3");
  request.folder = "/";
  absl::StatusOr<SpawnedProcess> process = SpawnChild(request);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(ReadAll(process->output), "/\nvalue\n");
  EXPECT_EQ(ReadAll(process->error), "problem\n");
  EXPECT_EQ(WEXITSTATUS(Reap(process->pid)), 3);
}

TEST(Spawn, PipesItsInput) {
  SpawnRequest request = Shell("cat");
  request.input = ChildInput::kPipe;
  absl::StatusOr<SpawnedProcess> process = SpawnChild(request);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_EQ(write(process->input.get(), "text", 4), 4);
  process->input.Reset();
  EXPECT_EQ(ReadAll(process->output), "text");
  EXPECT_EQ(Reap(process->pid), 0);
}

TEST(Spawn, LeadsItsOwnGroupWithDefaultSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  // A shell can't change the disposition of a signal that was ignored when it started.
  absl::StatusOr<SpawnedProcess> process = SpawnChild(Shell("echo ready; kill -PIPE $$; read x"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(getpgid(process->pid), process->pid);
  EXPECT_EQ(ReadAll(process->output), "ready\n");
  const int status = Reap(process->pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
}

TEST(Spawn, SaysWhyItCantExecute) {
  SpawnRequest request = Shell("");
  request.file = "/nowhere/sh";
  EXPECT_EQ(SpawnChild(request).status().code(), absl::StatusCode::kNotFound);
  request.file = "/";
  EXPECT_EQ(SpawnChild(request).status().code(), absl::StatusCode::kPermissionDenied);
  request = Shell("");
  request.folder = "/nowhere";
  EXPECT_EQ(SpawnChild(request).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "the failed children have been reaped";
}

TEST(Spawn, RunsScriptsWithoutInterpreterLine) {
  std::string path = testing::TempDir() + "/spawn_test_XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "echo $1\n", 8), 8);
  fchmod(fd, 0755);
  close(fd);
  SpawnRequest request = Shell("");
  request.file = path;
  request.arguments = {"script", "argument"};
  absl::StatusOr<SpawnedProcess> process = SpawnChild(request);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(ReadAll(process->output), "argument\n");
  EXPECT_EQ(Reap(process->pid), 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace phalanx::control
