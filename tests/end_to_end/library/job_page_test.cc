// `phalanx run --status-port`: what programs read there before, during and after a recovery.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>

#include "job_page_fixture.h"

namespace phalanx::testing_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class JobPageTest : public JobPageFixture {
 protected:
  std::string Metrics() const {
    const HttpAnswer answer = HttpGet(url_ + "metrics");
    EXPECT_EQ(answer.status, 200);
    return answer.body;
  }
};

TEST_F(JobPageTest, ShowsARecoveryInAllItsForms) {
  Start({"-n", "4", "--spares", "1", "--fault", "kill rank=2 at=step:12"});
  const json during = AwaitStatus(WaitsForSpare);
  EXPECT_EQ(during["phase"], "recovering");
  EXPECT_EQ(during["epoch"], 1);
  EXPECT_EQ(during["world_size"], 4);
  EXPECT_EQ(during["recovery"]["phase"], "returning");
  EXPECT_EQ(during["recovery"]["without_process"], json{2});
  EXPECT_EQ(during["ranks"][2]["state"], "lost");
  EXPECT_EQ(during["spares"]["ready"], 0);
  EXPECT_EQ(during["spares"]["to_come"], 1);
  EXPECT_EQ(during["recoveries"], json::array());
  EXPECT_EQ(during["losses_seen"], 1);
  EXPECT_EQ(during["faults"]["performed"], json{"kill rank=2 at=step:12"});
  EXPECT_LE(during["checkpoints"]["committed"]["version"], 11);
  EXPECT_EQ(during["voters"], (json{{{"place", "coordinator"}}}));
  EXPECT_THAT(Metrics(), HasSubstr("phalanx_job_phase{phase=\"recovering\"} 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("phalanx_rank_ready{rank=\"2\",node=\"\"} 0\n"));
  EXPECT_THAT(Metrics(), Not(HasSubstr("phalanx_recovering_seconds 0\n")));

  OpenGate();
  const json after = AwaitStatus(HasRecovered);
  EXPECT_EQ(after["phase"], "running");
  EXPECT_EQ(after["epoch"], 2);
  EXPECT_EQ(after["spares"]["ready"], 0);
  EXPECT_EQ(after["spares"]["to_come"], 0);
  EXPECT_EQ(after["ranks"][2]["state"], "ready");
  ASSERT_EQ(after["recoveries"].size(), 1u);
  const json& recovery = after["recoveries"][0];
  EXPECT_EQ(recovery["epoch"], 2);
  EXPECT_LE(recovery["step"], 12);
  EXPECT_GT(recovery["bytes"], 0);
  EXPECT_GT(recovery["returned_ms"], 0.0);
  EXPECT_GT(recovery["restored_ms"], 0.0);
  EXPECT_NEAR(recovery["total_ms"].get<double>(),
              recovery["returned_ms"].get<double>() + recovery["restored_ms"].get<double>(), 0.01);
  EXPECT_THAT(Metrics(), HasSubstr("phalanx_recoveries_total 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("phalanx_epoch 2\n"));
  EXPECT_THAT(Metrics(), HasSubstr("phalanx_recovering_seconds 0\n"));
  EXPECT_EQ(HttpGet(url_).status, 200);
  EXPECT_EQ(HttpGet(url_ + "healthz").body, "ok\n");
  EXPECT_EQ(HttpGet(url_ + "nothing").status, 404);
}

// While programs ask without pause.
TEST_F(JobPageTest, ComesBackWithTheCoordinatorAndEndsWithTheJob) {
  Start({"-n", "2"});
  const std::string coordinator = "coordinator";
  ASSERT_TRUE(AwaitStatus([](const json& status) {
                return status["checkpoints"]["committed"].is_object();
              }).is_object());
  std::atomic<bool> ends = false;
  std::thread asker([&] {
    while (!ends) HttpGet(url_ + "status.json");
  });
  const std::vector<pid_t> first = ChildrenOf(run_->pid(), coordinator);
  EXPECT_EQ(first.size(), 1u);
  if (!first.empty()) kill(first[0], SIGKILL);
  const json after = AwaitStatus(HasRecovered);
  EXPECT_EQ(after["epoch"], 2);
  EXPECT_EQ(after["losses_seen"], 0);
  EXPECT_THAT(after["log"].dump(), HasSubstr("the coordinator is back"));
  const std::vector<pid_t> second = ChildrenOf(run_->pid(), coordinator);
  run_->Signal(SIGINT);
  EXPECT_EQ(run_->AwaitExitCode(), 128 + SIGINT);
  ends = true;
  asker.join();
  EXPECT_EQ(HttpGet(url_).status, 0);
  for (const pid_t pid : second) EXPECT_TRUE(AwaitGone(pid));
}

TEST_F(JobPageTest, APortThatIsTakenEndsTheJobBeforeItBegins) {
  Start({"-n", "1"});
  const std::string port = url_.substr(17, url_.size() - 18);
  Subprocess other({PHALANX_COMMAND, "run", "--status-port", port, "-n", "1", "--", "echo", "ran"});
  EXPECT_EQ(other.AwaitExitCode(), 1);
  EXPECT_EQ(other.output(), "");
  EXPECT_THAT(other.error(), HasSubstr("--status-port: cannot listen on 127.0.0.1:" + port +
                                       ": the address is in use"));
}

TEST(JobPageOptionsTest, ThereIsNoPageUnlessOneIsAskedFor) {
  Subprocess without({PHALANX_COMMAND, "run", "-n", "1", "--", "true"});
  EXPECT_EQ(without.AwaitExitCode(), 0);
  EXPECT_THAT(without.error(), Not(HasSubstr("status")));
  Subprocess with({PHALANX_COMMAND, "run", "-n", "1", "--", "true"},
                  {.environment = {{"PHALANX_STATUS_PORT", "0"}}, .input = ""});
  EXPECT_EQ(with.AwaitExitCode(), 0);
  EXPECT_THAT(with.error(), HasSubstr("the job's status: http://127.0.0.1:"));
  Subprocess wrong({PHALANX_COMMAND, "run", "--status-port", "65536", "-n", "1", "--", "true"});
  EXPECT_EQ(wrong.AwaitExitCode(), 2);
}

}  // namespace
}  // namespace phalanx::testing_support
