// What the coordinator says of losses to those who ask how the job is.
#include "core_recovery_fixture.h"
#include "nlohmann/json.hpp"

namespace phalanx::control {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class CoreStatusTest : public CoreRecoveryFixture {
 protected:
  // As somebody who comes for that alone.
  json Status(Clock::duration at = milliseconds(0)) {
    Say(99, message::AskStatus{kProtocolVersion, 5, 1000}, at);
    if (Sent<message::JobStatus>().empty()) {
      Step(Tick{}, at + seconds(2));  // the ranks, which aren't there, haven't answered
    }
    const auto sent = Sent<message::JobStatus>();
    if (sent.size() != 1) {
      ADD_FAILURE() << sent.size() << " answers";
      return {};
    }
    EXPECT_EQ(sent[0].second.question, 5u);
    return json::parse(sent[0].second.json);
  }
};

TEST_F(CoreStatusTest, BeforeTheViewNothingWasLost) {
  Hello(1);
  const json status = Status();
  EXPECT_EQ(status["phase"], "joining");
  EXPECT_EQ(status["recovery"], json());
  EXPECT_EQ(status["recoveries"], json::array());
  EXPECT_EQ(status["losses_seen"], 0);
  EXPECT_EQ(status["checkpoints"]["committed"], json());
  EXPECT_EQ(status["checkpoints"]["files"], json());
  EXPECT_EQ(status["voters"], json::array());
  EXPECT_EQ(status["log"], json::array());
}

TEST_F(CoreStatusTest, SparesAreCounted) {
  RunWithSpares({1, 2}, /*announced=*/2);
  const json spares = Status()["spares"];
  EXPECT_EQ(spares["ready"], 2);
  EXPECT_EQ(spares["to_come"], 1);  // one of those that were announced has come
  EXPECT_EQ(spares["restarts_left"], 0);
  EXPECT_EQ(spares["processes"][0], (json{{"pid", 111}, {"node", 0}, {"silent", false}}));
  Say(1, message::MemberSilent{Incarnation{kSpare}, "is stopped"});
  EXPECT_EQ(Status()["spares"]["ready"], 1);
  EXPECT_EQ(Status()["spares"]["silent"], 1);
}

TEST_F(CoreStatusTest, ARecoverySaysForWhomItWaits) {
  RunWithSpares({}, /*announced=*/1);
  Lose(1, 3, seconds(10));
  Return({1}, seconds(10));
  const json status = Status(seconds(12));
  EXPECT_EQ(status["phase"], "recovering");
  EXPECT_EQ(
      status["recovery"],
      (json{
          {"for_s", 2.0}, {"phase", "returning"}, {"awaited", {1, 3}}, {"without_process", {2}}}));
  EXPECT_EQ(status["ranks"][0]["state"], "ready");
  EXPECT_EQ(status["ranks"][1]["state"], "awaited");
  EXPECT_EQ(status["ranks"][2]["state"], "lost");
  EXPECT_EQ(status["losses"], (json{{{"rank", 2}, {"epoch", 1}, {"age_s", 2.0}}}));
  EXPECT_EQ(status["log"][0]["text"], "waiting for a spare that takes the place of rank 2");
  EXPECT_EQ(status["log"][1]["text"], "rank 2 (pid 103 on node 0 'host1') died");
  EXPECT_EQ(status["log"][1]["severity"], "warning");
}

TEST_F(CoreStatusTest, TheNextViewEndsARecoveryIfNothingIsToBeRestored) {
  RunWithSpares({1});
  Lose(1, 3, seconds(10));
  Return({1, 2, 4}, seconds(10));
  const json status = Status(seconds(11));
  EXPECT_EQ(status["epoch"], 2);
  EXPECT_EQ(status["phase"], "running");
  EXPECT_EQ(status["recovery"], json());
  EXPECT_EQ(status["spares"]["ready"], 0);
  EXPECT_EQ(status["ranks"][2]["pid"], 111);
}

TEST(JobHistoryTest, TheNewestStayAndAllAreCounted) {
  JobHistory history;
  for (int i = 0; i < 25; ++i) {
    const Clock::time_point now = kStart + seconds(i);
    history.Note({"member_lost", {{"rank", i}, {"epoch", 1}}}, now);
    history.Note({"recovered",
                  {{"epoch", i},
                   {"step", 7},
                   {"bytes", 8},
                   {"total_us", 9},
                   {"returned_us", 4},
                   {"restored_us", 5}}},
                 now);
    history.Note({"committed", {{"version", i}, {"epoch", 1}}}, now);
    history.NoteLine(LogSeverity::kInfo, "not this", now);
    history.NoteLine(LogSeverity::kError, std::to_string(i), now);
  }
  history.Note({"copy_corrupt", {}}, kStart);
  EXPECT_EQ(history.losses_seen(), 25u);
  ASSERT_EQ(history.losses().size(), 10u);
  EXPECT_EQ(history.losses().front().rank, 15);
  EXPECT_EQ(history.recoveries_made(), 25u);
  ASSERT_EQ(history.recoveries().size(), 10u);
  const JobHistory::Recovery& last = history.recoveries().back();
  EXPECT_EQ(last.epoch, 24);
  EXPECT_EQ(last.step, 7);
  EXPECT_EQ(last.bytes, 8);
  EXPECT_EQ(last.total.count(), 9);
  EXPECT_EQ(last.returned.count(), 4);
  EXPECT_EQ(last.restored.count(), 5);
  EXPECT_EQ(history.commits(), 25u);
  EXPECT_EQ(history.committed_at(), kStart + seconds(24));
  EXPECT_EQ(history.corrupt_copies(), 1u);
  ASSERT_EQ(history.lines().size(), 20u);
  EXPECT_EQ(history.lines().front().text, "5");
}

}  // namespace
}  // namespace phalanx::control
