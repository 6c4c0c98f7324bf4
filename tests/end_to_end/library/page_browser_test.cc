// The status page in a real browser: what a person sees, during a recovery and after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "browser.h"
#include "control_process/listen.h"
#include "control_status_page/status_page.h"
#include "job_page_fixture.h"

namespace phalanx::testing_support {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class PageOfAJobTest : public JobPageFixture {
 protected:
  void SetUp() override {
    if (FindBrowser().empty()) GTEST_SKIP() << "chromium isn't installed";
    JobPageFixture::SetUp();
  }
};

TEST_F(PageOfAJobTest, ShowsARecoveryWhileItIsUnderWayAndAfterIt) {
  Start({"-n", "4", "--spares", "1", "--fault", "kill rank=2 at=step:12"});
  AwaitStatus(WaitsForSpare);
  const std::string during = Browse(url_, folder_);
  EXPECT_THAT(during, HasSubstr("class=\"card busy\" id=\"verdict\""));
  EXPECT_THAT(TextOf(during, "verdict-word"), ContainsRegex("^Recovering, for [0-9.]+ (s|min)$"));
  EXPECT_EQ(TextOf(during, "verdict-why"), "rank 2 has no process yet and waits for a spare");
  EXPECT_THAT(during, HasSubstr("<div class=\"value\">3 / 4</div>"));
  EXPECT_THAT(TextOf(during, "ranks"), ContainsRegex("\\|1\\|ready\\|0 "));
  EXPECT_THAT(TextOf(during, "ranks"), HasSubstr("|2|lost, waits for a spare|–|–|"));
  EXPECT_THAT(TextOf(during, "log"),
              HasSubstr("waiting for a spare that takes the place of rank 2"));
  EXPECT_THAT(TextOf(during, "log"), HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(TextOf(during, "recoveries"), Not(HasSubstr("ms|")));

  OpenGate();
  AwaitStatus(HasRecovered);
  const std::string after = Browse(url_, folder_);
  EXPECT_THAT(after, HasSubstr("class=\"card good\" id=\"verdict\""));
  EXPECT_EQ(TextOf(after, "verdict-word"), "Running");
  EXPECT_EQ(TextOf(after, "verdict-why"),
            "All ranks are there; no spare is left for the next loss.");
  EXPECT_THAT(after, HasSubstr("<div class=\"value\">4 / 4</div>"));
  EXPECT_THAT(after, HasSubstr("<div class=\"name\">epoch</div><div class=\"value\">2</div>"
                               "<div class=\"note\">1 loss seen</div>"));
  EXPECT_THAT(after, HasSubstr("<div class=\"name\">spares</div><div class=\"value\">0</div>"));
  EXPECT_THAT(TextOf(after, "ranks"), ContainsRegex("\\|2\\|ready\\|0 "));
  // Epoch, when, in total, both phases, bytes, step.
  EXPECT_THAT(TextOf(after, "recoveries"),
              ContainsRegex("\\|2\\|[0-9.]+ (s|min) ago\\|[0-9.]+ m?s\\|[0-9.]+ m?s \\+ [0-9.]+ "
                            "m?s\\|[0-9,]+\\|[0-9]+"));
  run_->Signal(SIGTERM);
  EXPECT_EQ(run_->AwaitExitCode(), 128 + SIGTERM);
}

// A page that is told what a test wants.
class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindBrowser().empty()) GTEST_SKIP() << "chromium isn't installed";
    std::string pattern = testing::TempDir() + "/page_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (thread_.joinable()) {
      asio::post(loop_, [this] { page_->Close(); });
      thread_.join();
    }
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // `answer`: the status, for the how manyth question. On another thread.
  void Open(std::function<std::string(int)> answer) {
    absl::StatusOr<control::Listener> listener = control::Listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener.ok()) << listener.status();
    url_ = "http://127.0.0.1:" + std::to_string(listener->endpoint.port) + "/";
    page_ = std::make_unique<control::StatusPage>(
        loop_, [this, answer] { page_->Answer(answer(asked_++)); });
    const absl::Status opened = page_->Open(listener->fd.Release());
    ASSERT_TRUE(opened.ok()) << opened;
    thread_ = std::thread([this] { loop_.run(); });
  }

  static json Status() {
    return json::parse(R"json({
      "job": "a job", "phase": "running", "epoch": 3, "world_size": 2,
      "nodes": [{"node": 0, "name": "alpha", "cores": 2}, {"node": 1, "name": "beta", "cores": 2}],
      "ordering": {"tracked": true}, "voters": [{"place": "coordinator"}],
      "ranks": [{"rank": 0, "node": 0, "pid": 11, "state": "ready", "copies_on": [0, 1],
                 "operations": [{"age_s": 3.2}], "answered": true},
                {"rank": 1, "node": 1, "pid": 12, "state": "ready", "copies_on": [1, 0],
                 "answered": false}],
      "spares": {"ready": 1, "silent": 0, "to_come": 0, "restarts_left": 2,
                 "processes": [{"pid": 13, "node": 1, "silent": false}]},
      "checkpoints": {"committed": {"version": 1200, "epoch": 3, "age_s": 0.5}, "commits": 7,
                      "copies": {"wanted": 2, "placed": 2, "missing": false, "degraded": false},
                      "files": {"newest": {"version": 1100, "epoch": 3}, "failed": 0,
                                "being_written": {"version": 1200, "epoch": 3}}},
      "recovery": null, "recoveries": [], "recoveries_made": 0, "losses": [], "losses_seen": 0,
      "faults": {"planned": 0, "performed": []}, "log": [], "waits": [], "now": null})json");
  }

  // The page once its second answer gives this verdict. A browser on a loaded machine may run out
  // of its budget with the first answer, so one that did gets a larger one.
  std::string BrowseUntil(const std::string& verdict) {
    std::string page;
    for (int budget_ms = 5000; budget_ms <= 40'000; budget_ms *= 2) {
      asked_ = 0;
      page = Browse(url_, folder_, budget_ms);
      if (TextOf(page, "verdict-word") == verdict) break;
    }
    return page;
  }

  asio::io_context loop_;
  std::unique_ptr<control::StatusPage> page_;
  std::thread thread_;
  std::string folder_;
  std::string url_;
  std::atomic<int> asked_ = 0;
};

TEST_F(PageTest, AJobThatIsWellIsSeenToBe) {
  Open([](int) { return Status().dump(); });
  const std::string page = Browse(url_, folder_);
  EXPECT_THAT(page, HasSubstr("class=\"card good\" id=\"verdict\""));
  EXPECT_EQ(TextOf(page, "verdict-why"), "All ranks are there, and a loss can be recovered from.");
  EXPECT_THAT(TextOf(page, "ranks"),
              HasSubstr("|0|ready|0 alpha|11|0 alpha, 1 beta|1, oldest 3.2 s"));
  EXPECT_THAT(TextOf(page, "ranks"),
              HasSubstr("|1|ready|1 beta|12|1 beta, 0 alpha|doesn't answer"));
  EXPECT_THAT(TextOf(page, "spares"), HasSubstr("|pid 13|ready|1 beta"));
  EXPECT_THAT(page, HasSubstr("<div class=\"name\">committed step</div><div class=\"value\">1,200"
                              "</div><div class=\"note\">0.5 s ago</div>"));
  EXPECT_THAT(page, HasSubstr("<div class=\"value\">1,100</div><div class=\"note\">1,200 is being "
                              "written</div>"));
}

TEST_F(PageTest, WhoWaitsForWhomAndWhatIsDegradedIsSeen) {
  json status = Status();
  status["checkpoints"]["copies"] = {
      {"wanted", 3}, {"placed", 2}, {"missing", true}, {"degraded", true}};
  status["ranks"][1]["silent"] = true;
  status["waits"] = json::array({{{"op", {{"name", "communicator 0, operation 7"}}},
                                  {"present_on", {0}},
                                  {"not_issued_on", {1}},
                                  {"not_reached_on", json::array()}}});
  status["now"] = {{"text", "absent rank: 1"}};
  Open([status](int) { return status.dump(); });
  const std::string page = Browse(url_, folder_);
  EXPECT_THAT(page, HasSubstr("class=\"card busy\" id=\"verdict\""));
  EXPECT_EQ(TextOf(page, "verdict-word"), "Running, degraded");
  EXPECT_EQ(TextOf(page, "verdict-why"),
            "rank 1 is stopped or silent; only 2 of 3 copies of each rank's state are possible; "
            "lost copies are being made again; operations wait for each other or for a rank");
  EXPECT_THAT(TextOf(page, "waits"), HasSubstr("|communicator 0, operation 7|1|–|0"));
  EXPECT_EQ(TextOf(page, "explanation"), "absent rank: 1");
}

TEST_F(PageTest, NamesAreNobodysMarkup) {
  const std::string hostile = "<img src=x onerror=\"document.title='taken'\">";
  json status = Status();
  status["job"] = hostile;
  status["nodes"][0]["name"] = hostile;
  status["log"] = {{{"severity", "warning"}, {"text", hostile}, {"age_s", 1.0}}};
  status["faults"] = {{"planned", 1}, {"performed", {hostile}}};
  status["now"] = {{"text", hostile}};
  Open([status](int) { return status.dump(); });
  const std::string page = Browse(url_, folder_);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<title>taken")));
  EXPECT_THAT(TextOf(page, "log"), HasSubstr("&lt;img src=x"));
  EXPECT_THAT(TextOf(page, "ranks"), HasSubstr("0 &lt;img src=x"));
}

TEST_F(PageTest, ItGoesOnByItself) {
  Open([](int asked) {
    json status = Status();
    if (asked == 0) {
      status["recovery"] = {{"for_s", 1.5},
                            {"phase", "restoring"},
                            {"awaited", json::array()},
                            {"without_process", json::array()}};
    }
    return status.dump();
  });
  const std::string page = BrowseUntil("Running");
  EXPECT_GE(asked_, 2);
  EXPECT_EQ(TextOf(page, "verdict-word"), "Running");
}

TEST_F(PageTest, TheEndIsSaidBesideWhatWasSoLast) {
  Open([](int asked) {
    return asked == 0 ? Status().dump() : R"({"error": "the job is over: rank 1 died"})";
  });
  const std::string page = BrowseUntil("The job is over");
  EXPECT_EQ(TextOf(page, "verdict-word"), "The job is over");
  EXPECT_THAT(TextOf(page, "verdict-why"), HasSubstr("the job is over: rank 1 died; below is"));
  EXPECT_THAT(TextOf(page, "ranks"), HasSubstr("|0|ready|0 alpha|11|"));
}

}  // namespace
}  // namespace phalanx::testing_support
