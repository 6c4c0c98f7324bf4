// A job's record in etcd: whatever happens to ranks, the coordinator and etcd, the job comes to
// what it comes to without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "etcd_server.h"
#include "spares_fixture.h"
#include "subprocess.h"
#include "training.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kEpochs = 12;

class Etcd : public SparesFixture {
 protected:
  void SetUp() override {
    if (FindEtcd().empty()) GTEST_SKIP() << "etcd isn't installed";
    const std::string module = std::string(MODULES) + "/libphalanx_etcd.so";
    if (access(module.c_str(), R_OK) != 0) GTEST_SKIP() << "built without etcd";
    SparesFixture::SetUp();
    etcd_ = std::make_unique<EtcdServer>(folder_);
  }
  void TearDown() override {
    etcd_.reset();
    if (!folder_.empty()) SparesFixture::TearDown();
  }

  std::vector<std::string> With(std::vector<std::string> options) const {
    options.insert(options.end(), {"--coordinator", etcd_->url()});
    return options;
  }
  static void ExpectUndisturbedWeights(const Subprocess& run,
                                       const std::vector<std::string>& placed = {"-n", "4"}) {
    EXPECT_EQ(Digests(run.output()), UndisturbedWeights(placed, kEpochs)) << run.error();
  }
  static void AwaitError(Subprocess& run, const std::string& text) {
    run.AwaitOutput([&] { return Count(run.error(), text) > 0; });
  }
  static void ExpectRunsFor(const Subprocess& run, std::chrono::milliseconds time) {
    const int process = static_cast<int>(syscall(SYS_pidfd_open, run.pid(), 0));
    pollfd wait{process, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, static_cast<int>(time.count())), 0) << "the job has ended";
    close(process);
  }
  static std::string EnvironmentOf(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void KillRank(const Subprocess& run, int rank) {
    const std::string place = "PHALANX_RANK=" + std::to_string(rank);
    for (const pid_t pid : ChildrenOf(run.pid(), "--epochs")) {
      if (EnvironmentOf(pid).find(place + '\0') != std::string::npos) return Kill(pid);
    }
    ADD_FAILURE() << "no rank " << rank;
  }
  static void KillCoordinator(const Subprocess& run) {
    const std::vector<pid_t> coordinators = ChildrenOf(run.pid(), "coordinator");
    ASSERT_EQ(coordinators.size(), 1u);
    Kill(coordinators[0]);
  }

  std::unique_ptr<EtcdServer> etcd_;
};

TEST_F(Etcd, ARankAndTheCoordinatorAreKilled) {
  Subprocess run(Train(With({"-n", "4", "--spares", "1"}),
                       {"kill rank=2 at=step:60", "kill coordinator at=point:proposed"}, kEpochs));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), HasSubstr("; not the end of this command, nor the loss of etcd's data"));
  EXPECT_THAT(run.error(), HasSubstr("the coordinator is back, with the record of epoch "));
  EXPECT_THAT(run.error(), Not(HasSubstr("etcd doesn't answer")));
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, OnSeveralNodes) {
  const std::vector<std::string> placed = {"--nodes", "localhost:2,localhost:2"};
  std::vector<std::string> options = placed;
  options.insert(options.end(), {"--spares", "2"});
  Subprocess run(Train(With(options),
                       {"kill coordinator at=point:committed", "kill rank=1 at=step:60"}, kEpochs));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run, placed);
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, FrozenForFiveSecondsWhileARankIsKilled) {
  Subprocess run(Train(With({"-n", "4", "--spares", "1"}), {}, kEpochs));
  ASSERT_TRUE(run.AwaitText("epoch  2 "));
  EXPECT_EQ(etcd_->Keys(), 1);
  etcd_->Freeze();
  KillRank(run, 2);
  ExpectRunsFor(run, std::chrono::seconds(5));
  etcd_->GoOn();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), HasSubstr("etcd doesn't answer ("));
  EXPECT_THAT(run.error(), HasSubstr("etcd answers again, after "));
  EXPECT_THAT(run.error(), HasSubstr("a spare takes the place of rank 2"));
  EXPECT_EQ(Count(run.error(), "a spare takes the place of"), 1) << run.error();
  EXPECT_THAT(run.error(), Not(HasSubstr("evicted")));
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, FrozenWhileTheCoordinatorIsKilled) {
  Subprocess run(Train(With({"-n", "4", "--spares", "1"}), {}, kEpochs));
  ASSERT_TRUE(run.AwaitText("epoch  2 "));
  etcd_->Freeze();
  KillCoordinator(run);
  AwaitError(run, "etcd doesn't answer (");
  etcd_->GoOn();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_THAT(run.error(), HasSubstr("the coordinator is back, with the record of epoch 1"));
  EXPECT_THAT(run.error(), Not(HasSubstr("a spare takes the place of")));
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, StartedAgainOnItsData) {
  Subprocess run(Train(With({"-n", "4", "--spares", "1"}), {}, kEpochs));
  ASSERT_TRUE(run.AwaitText("epoch  2 "));
  etcd_->Kill();
  KillRank(run, 1);
  AwaitError(run, "etcd doesn't answer (");
  etcd_->StartAgain();
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbedWeights(run);
  EXPECT_EQ(Count(run.error(), "a spare takes the place of"), 1) << run.error();
  EXPECT_THAT(run.error(), Not(HasSubstr("evicted")));
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, AwayForGoodEndsTheJob) {
  Subprocess run(Train(With({"-n", "2", "--spares", "1"}), {}, 1'000'000),
                 {.environment = {{"PHALANX_RECORD_TIMEOUT_MS", "1500"}}, .input = ""});
  ASSERT_TRUE(run.AwaitText("epoch  1 "));
  const std::vector<pid_t> children = ChildrenOf(run.pid(), "");
  etcd_->Kill();
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr("etcd hasn't answered in time: 127.0.0.1:"));
  EXPECT_THAT(run.error(), Not(HasSubstr("starting it again")));
  EXPECT_THAT(run.error(), HasSubstr("/record may be left at " + etcd_->url()));
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

TEST_F(Etcd, CtrlCRemovesTheKey) {
  Subprocess run(Train(With({"-n", "2"}), {}, 1'000'000));
  ASSERT_TRUE(run.AwaitText("epoch  1 "));
  EXPECT_EQ(etcd_->Keys(), 1);
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGINT);
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, AFailedJobsKeyIsRemoved) {
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--coordinator", etcd_->url(), "--", "false"});
  EXPECT_EQ(run.AwaitExitCode(), 1);
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, OneOfSeveralIsEnough) {
  const std::string url = "etcd://127.0.0.1:1," + etcd_->url().substr(sizeof("etcd://") - 1);
  Subprocess run(Train({"-n", "2", "--coordinator", url}, {}, 2));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_EQ(Digests(run.output()).size(), 2u);
  EXPECT_EQ(etcd_->Keys(), 0);
}

TEST_F(Etcd, NobodyThereIsSaidAtOnceAndStartsNothing) {
  etcd_->Kill();
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--coordinator", etcd_->url(), "--", "echo",
                  "it", "has", "begun"});
  EXPECT_EQ(run.AwaitExitCode(), 1);
  EXPECT_THAT(run.error(), HasSubstr("etcd hasn't answered in time: 127.0.0.1:"));
  EXPECT_THAT(run.error(), HasSubstr("the job isn't started: its record can't be kept at etcd://"));
  EXPECT_EQ(run.output(), "");
}

TEST(EtcdUrl, WhatIsNoneIsWrongUsage) {
  for (const char* const url : {"http://localhost:2379", "etcd://localhost", "etcd://"}) {
    Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--coordinator", url, "--", "true"});
    EXPECT_EQ(run.AwaitExitCode(), 2);
    EXPECT_THAT(run.error(), HasSubstr(std::string("--coordinator: '") + url + "'"));
  }
}

}  // namespace
}  // namespace phalanx::testing_support
