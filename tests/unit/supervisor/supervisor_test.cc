// The supervisor in this process, with shells as workers. What needs a launcher to die is in
// tests/end_to_end.
#include "control_supervisor/supervisor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace phalanx::control {
namespace {

class SupervisorTest : public testing::Test, protected SupervisorEvents {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/supervisor_test_XXXXXX";
    output_.Reset(mkstemp(path.data()));
    ASSERT_GE(output_.get(), 0);
    unlink(path.c_str());
    options_.output_fd = output_.get();
    options_.error_fd = output_.get();
  }

  void AddShell(const std::string& script) {
    SupervisedWorker worker;
    worker.rank = static_cast<int>(options_.workers.size());
    worker.label = "[" + std::to_string(worker.rank) + "] ";
    worker.request.file = "/bin/sh";
    worker.request.arguments = {"sh", "-c", script};
    worker.request.environment = {"PATH=/usr/bin:/bin"};
    options_.workers.push_back(worker);
  }

  // Runs the job to its end; the exit code, or -1 if it doesn't end.
  int Run() {
    supervisor_ = Supervisor::Create(loop_, options_, this);
    const absl::Status status = supervisor_->Start();
    EXPECT_TRUE(status.ok()) << status;
    loop_.run_for(std::chrono::seconds(30));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
    return exit_code_;
  }

  std::string Output() const {
    std::string text(size_t{1} << 16, '\0');
    text.resize(static_cast<size_t>(pread(output_.get(), text.data(), text.size(), 0)));
    return text;
  }

  void OnWorkerEnded(int rank, pid_t, int wait_status) override {
    ended_.push_back(rank);
    wait_statuses_.push_back(wait_status);
    if (on_ended_) on_ended_();
  }
  void OnFirstFailure(int rank, pid_t pid, const ProcessEnd& end, int others) override {
    EXPECT_GT(pid, 0);
    first_failed_.push_back(rank);
    first_end_ = end.Describe();
    others_ = others;
  }
  void OnEnded(int exit_code) override {
    exit_code_ = exit_code;
    loop_.stop();
  }

  asio::io_context loop_;
  SupervisorOptions options_;
  std::unique_ptr<Supervisor> supervisor_;
  Fd output_;
  std::function<void()> on_ended_;
  std::vector<int> ended_;
  std::vector<int> wait_statuses_;
  std::vector<int> first_failed_;
  std::string first_end_;
  int others_ = -1;
  int exit_code_ = -1;
};

TEST_F(SupervisorTest, RunsAllToSuccess) {
  AddShell("echo one");
  AddShell("printf two >&2");
  EXPECT_EQ(Run(), 0);
  const std::string output = Output();
  EXPECT_NE(output.find("[0] one\n"), std::string::npos) << output;
  EXPECT_NE(output.find("[1] two\n"), std::string::npos) << output;
  EXPECT_EQ(ended_.size(), 2u);
  EXPECT_EQ(wait_statuses_, (std::vector<int>{0, 0}));
  EXPECT_TRUE(first_failed_.empty());
}

TEST_F(SupervisorTest, FirstFailureEndsTheOthers) {
  AddShell("exec sleep 1000");
  AddShell("exit 5");
  AddShell("exec sleep 1000");
  EXPECT_EQ(Run(), 5);
  EXPECT_EQ(first_failed_, std::vector<int>{1});
  EXPECT_EQ(first_end_, "exited with code 5");
  EXPECT_EQ(others_, 2);
}

TEST_F(SupervisorTest, KillsWhoeverIgnoresSigterm) {
  options_.grace = std::chrono::milliseconds(100);
  AddShell("trap '' TERM; echo deaf; while :; do sleep 1000; done");
  AddShell("kill -9 $$");
  EXPECT_EQ(Run(), 137);
  EXPECT_EQ(first_end_, "was killed by signal 9 (SIGKILL)");
}

TEST_F(SupervisorTest, ToldWorkersAreNotSignalledBeforeTheGracePeriod) {
  options_.grace = std::chrono::seconds(20);
  options_.hearing = std::chrono::seconds(10);
  AddShell("exit 4");
  AddShell("read line < /dev/null; trap 'exit 9' TERM; sleep 0.2; echo by itself");
  EXPECT_EQ(Run(), 4);
  EXPECT_NE(Output().find("[1] by itself\n"), std::string::npos) << Output();
  EXPECT_EQ(wait_statuses_, (std::vector<int>{4 << 8, 0}));
}

TEST_F(SupervisorTest, LossFromOutside) {
  options_.grace = std::chrono::milliseconds(50);
  AddShell("exec sleep 1000");
  AddShell("exit 0");
  on_ended_ = [this] {
    if (ended_.size() == 1) supervisor_->OnLost();
  };
  EXPECT_EQ(Run(), 1);
  EXPECT_TRUE(first_failed_.empty());
  EXPECT_EQ(wait_statuses_, (std::vector<int>{0, SIGTERM}));
}

TEST_F(SupervisorTest, KillsTheRestOfAGroupAndDaemons) {
  // A child in the worker's group, and one that left it.
  AddShell("sleep 1000 & setsid sleep 1000 & exit 0");
  EXPECT_EQ(Run(), 0);
}

TEST_F(SupervisorTest, SignalsReachWorkersAsLinesWhereTheyHaveAPipe) {
  AddShell("read first; echo $first; exec cat");
  options_.workers[0].request.input = ChildInput::kPipe;
  options_.workers[0].input = "assignment\n";
  AddShell("exit 0");
  options_.grace = std::chrono::milliseconds(200);
  on_ended_ = [this] {
    if (ended_.size() > 1) return;
    supervisor_->HandleSignal(SIGUSR1);
    supervisor_->HandleSignal(SIGINT);
  };
  EXPECT_EQ(Run(), 128 + SIGINT) << "cat doesn't know the lines and is killed";
  EXPECT_EQ(Output(), "[0] assignment\n[0] signal 10\n[0] signal 2\n[0] signal 18\n");
}

TEST_F(SupervisorTest, StartFailureLeavesNothing) {
  AddShell("exec sleep 1000");
  AddShell("");
  options_.workers[1].request.file = "/nowhere/sh";
  supervisor_ = Supervisor::Create(loop_, options_, this);
  EXPECT_EQ(supervisor_->Start().code(), absl::StatusCode::kNotFound);
  supervisor_.reset();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(exit_code_, -1);
}

TEST_F(SupervisorTest, KeeperHearsOfGroupsAndGoes) {
  absl::StatusOr<std::unique_ptr<Keeper>> keeper = Keeper::Start();
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  options_.keeper = keeper->get();
  AddShell("exit 0");
  supervisor_ = Supervisor::Create(loop_, options_, this);
  ASSERT_TRUE(supervisor_->Start().ok());
  loop_.run_for(std::chrono::seconds(30));
  EXPECT_EQ(exit_code_, 0);
  EXPECT_EQ(kill((*keeper)->pid(), 0), 0) << "the keeper is no stray";
  keeper->reset();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace phalanx::control
