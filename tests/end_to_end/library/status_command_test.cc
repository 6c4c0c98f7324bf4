// `phalanx status` as a user meets it: what it shows of jobs that run, and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

struct Answer {
  int exit_code = 0;
  std::string output;
  std::string error;
};

Answer Status(std::vector<std::string> words) {
  words.insert(words.begin(), {PHALANX_COMMAND, "status"});
  Subprocess run(words);
  Answer answer;
  answer.exit_code = run.AwaitExitCode();
  answer.output = run.output();
  answer.error = run.error();
  return answer;
}

// A job whose two ranks wait for each other, until it is told to end.
class HungJob {
 public:
  explicit HungJob(std::map<std::string, std::string> more = {},
                   std::vector<std::string> flags = {})
      : run_(Words(std::move(flags)), Environment(std::move(more))) {
    EXPECT_TRUE(run_.AwaitText("agent ", 2));
    const size_t at = run_.output().find("agent ") + 6;
    agent_ = run_.output().substr(at, run_.output().find('\n', at) - at);
    job_ = agent_.substr(8, agent_.find('/', 8) - 8);
  }
  ~HungJob() {
    run_.Signal(SIGTERM);
    run_.AwaitExitCode();
  }

  // Until the coordinator has reported the cycle.
  bool AwaitReport() {
    return run_.AwaitOutput([this] { return Count(run_.error(), "give the operations keys") > 0; });
  }
  const std::string& agent() const { return agent_; }
  const std::string& job() const { return job_; }
  Subprocess& run() { return run_; }

 private:
  static std::vector<std::string> Words(std::vector<std::string> flags) {
    std::vector<std::string> words = {PHALANX_COMMAND, "run", "-n", "2", "--grace-ms", "0"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", ORDERING_WORKER, "host_waits_between"});
    return words;
  }
  static Subprocess::Options Environment(std::map<std::string, std::string> more) {
    // What is given wins.
    more.insert({{"PHALANX_ORDERING", "strict"},
                 {"PHALANX_DEVICE_SLOTS", "1"},
                 {"PHALANX_STALL_ACTION", "warn"},
                 {"PHALANX_STALL_TIMEOUT", "0.05"},
                 {"ORDERING_WORKER_SAYS_AGENT", "1"}});
    return {std::move(more), ""};
  }

  Subprocess run_;
  std::string agent_;
  std::string job_;
};

TEST(Status, ShowsWhatAHungJobWaitsFor) {
  HungJob job;
  ASSERT_TRUE(job.AwaitReport());
  const Answer answer = Status({"--job", job.job()});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.output,
              HasSubstr("job " + job.job() + ": running, 2 ranks on 1 node, epoch 1"));
  EXPECT_THAT(answer.output,
              HasSubstr("ordering: strict, 1 slot; reports after 0.05 s without progress, cycles: "
                        "warn\nsequencer: announced, term 0.0, 0 tickets between nodes, 0 fences"));
  EXPECT_THAT(
      answer.output,
      ContainsRegex("rank 0 \\(pid [0-9]+, node 0\\): ready, 1 operation in flight, [0-9]+ "
                    "tickets so far\n  communicator 1, operation 0 \\(all_reduce of 1024 float "
                    "\\(sum\\)\\) on stream [0-9]+ at ordering_rank.h:[0-9]+: present, not "
                    "launched, for [0-9.]+ s, first in the queue\n  a thread waits for "
                    "communicator 1, operation 0"));
  EXPECT_THAT(
      answer.output,
      HasSubstr("operations that wait:\n"
                "  communicator 1, operation 0: present on rank 0, not issued on rank 1\n"
                "  communicator 2, operation 0: present on rank 1, not issued on rank 0\n"));
  EXPECT_THAT(answer.output, HasSubstr("at this look:\n  cycle: operations wait for each other\n"));
  EXPECT_THAT(answer.output, HasSubstr("1 report so far; the last:\n  cycle: "));
}

TEST(Status, GivesTheSameAsJson) {
  HungJob job;
  ASSERT_TRUE(job.AwaitReport());
  const Answer answer = Status({"--agent", job.agent(), "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  const json status = json::parse(answer.output);
  EXPECT_EQ(status.at("job"), job.job());
  EXPECT_EQ(status.at("phase"), "running");
  EXPECT_EQ(status.at("world_size"), 2);
  EXPECT_EQ(status.at("ordering").at("mode"), "strict");
  EXPECT_EQ(status.at("ordering").at("stall_action"), "warn");
  EXPECT_EQ(status.at("ordering").at("term").at("kind"), "announced");
  for (const size_t rank : {0U, 1U}) {
    const json& it = status.at("ranks").at(rank);
    EXPECT_EQ(it.at("state"), "ready");
    EXPECT_EQ(it.at("answered"), true);
    ASSERT_EQ(it.at("operations").size(), 1U);
    const json& op = it.at("operations").at(0);
    EXPECT_EQ(op.at("communicator"), rank + 1);
    EXPECT_EQ(op.at("present"), true);
    EXPECT_EQ(op.at("launched"), false);
    EXPECT_EQ(op.at("head"), true);
    EXPECT_EQ(it.at("threads").at(0).at("waits_for").at(0), op.at("name"));
  }
  EXPECT_EQ(status.at("now").at("kind"), "cycle");
  ASSERT_EQ(status.at("reports").size(), 1U);
  const json& report = status.at("reports").at(0);
  EXPECT_EQ(report.at("kind"), "cycle");
  EXPECT_EQ(report.at("aborted"), json::array());
  EXPECT_EQ(report.at("lines").at(0).at("why"), "host");
}

TEST(Status, NamesARankThatDoesNotAnswer) {
  HungJob job;
  ASSERT_TRUE(job.AwaitReport());
  const json before = json::parse(Status({"--agent", job.agent(), "--json"}).output);
  const pid_t pid = before.at("ranks").at(1).at("pid");
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  const Answer answer = Status({"--agent", job.agent(), "--timeout", "0.5"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.output, HasSubstr("rank 1 (pid " + std::to_string(pid) +
                                       ", node 0): ready, doesn't answer\n"));
  EXPECT_THAT(answer.output, ContainsRegex("rank 0 \\(pid [0-9]+, node 0\\): ready, 1 operation"));
  EXPECT_THAT(answer.output, Not(HasSubstr("at this look")));
  EXPECT_EQ(kill(pid, SIGCONT), 0);
}

TEST(Status, SaysThatNothingIsTracked) {
  const std::map<std::string, std::string> adaptive = {{"PHALANX_ORDERING", "adaptive"},
                                                       {"PHALANX_DEVICE_SLOTS", "0"}};
  HungJob job(adaptive);
  const Answer answer = Status({"--agent", job.agent()});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.output, HasSubstr("operations are not tracked: set PHALANX_ORDERING=strict"));
  EXPECT_THAT(answer.output, ContainsRegex("rank 1 \\(pid [0-9]+, node 0\\): ready\n"));
}

TEST(Status, AsksToChooseAmongJobs) {
  const HungJob one;
  const HungJob two;
  const Answer answer = Status({});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(answer.output, "");
  EXPECT_THAT(answer.error, HasSubstr("jobs; choose one with --job:"));
  EXPECT_THAT(answer.error, HasSubstr("\n  " + one.job() + "\n"));
  EXPECT_THAT(answer.error, HasSubstr("\n  " + two.job() + "\n"));
}

TEST(Status, FindsNoJobThatIsOver) {
  std::string job;
  {
    const HungJob hung;
    job = hung.job();
  }
  const Answer answer = Status({"--job", job});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_EQ(answer.error, "phalanx: no job '" + job + "' of yours runs on this machine\n");
}

TEST(Status, RefusesWrongWords) {
  const std::vector<std::vector<std::string>> wrong = {{"--no-such-flag"},
                                                       {"--timeout", "0"},
                                                       {"--timeout", "soon"},
                                                       {"--job", "a", "--agent", "b"},
                                                       {"--address", "localhost:1"},
                                                       {"--key-file", "/dev/null"},
                                                       {"word"}};
  for (const std::vector<std::string>& words : wrong) {
    const Answer answer = Status(words);
    EXPECT_EQ(answer.exit_code, 2) << words[0] << answer.output;
    EXPECT_EQ(answer.output, "");
    EXPECT_THAT(answer.error, HasSubstr("phalanx status --help"));
  }
  EXPECT_EQ(Status({"--help"}).exit_code, 0);
  EXPECT_EQ(Status({"--agent", "phalanx/nobody/here"}).exit_code, 1);
}

TEST(Report, IsAppendedToAFileAsALineOfJson) {
  const std::string path = ::testing::TempDir() + "/reports." + std::to_string(getpid()) + ".json";
  std::filesystem::remove(path);
  for (int jobs = 1; jobs <= 2; ++jobs) {
    HungJob job({}, {"--report", path});
    ASSERT_TRUE(job.AwaitReport());
    Status({"--agent", job.agent()});  // by its answer the report is written
    std::ifstream file(path);
    std::string line;
    for (int i = 0; i < jobs; ++i) ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(json::parse(line).at("kind"), "cycle");
    EXPECT_FALSE(std::getline(file, line));
  }
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  std::filesystem::remove(path);
  Subprocess run({PHALANX_COMMAND, "run", "--report", "/no/such/folder/file", "--", "true"});
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(), HasSubstr("--report: can't write '/no/such/folder/file'"));
}

// With `warn` operations end at their own deadline, and that says why.
TEST(Report, AbortsNothingWhenItOnlyWarns) {
  Subprocess::Options options;
  options.environment = {{"PHALANX_ORDERING", "strict"},
                         {"PHALANX_STALL_ACTION", "warn"},
                         {"PHALANX_OPERATION_TIMEOUT", "2"}};
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--", ORDERING_WORKER, "host_waits_between"},
                 options);
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.output(), HasSubstr("failed: DEADLINE_EXCEEDED"));
  EXPECT_THAT(run.output(), HasSubstr("cycle: operations wait for each other"));
  EXPECT_THAT(run.output(), Not(HasSubstr("FAILED_PRECONDITION")));
}

// The thread that issued has ended, and nothing says that the others would.
TEST(Report, KnowsThatAThreadHasEnded) {
  Subprocess::Options options;
  options.environment = {{"PHALANX_ORDERING", "strict"}, {"PHALANX_OPERATION_TIMEOUT", "2"}};
  Subprocess run({PHALANX_COMMAND, "run", "-n", "2", "--", ORDERING_WORKER, "thread_ends"},
                 options);
  EXPECT_NE(run.AwaitExitCode(), 0);
  EXPECT_THAT(run.error(), HasSubstr("absent rank: a rank issues no more operations"));
  EXPECT_THAT(run.error(),
              ContainsRegex("rank 1: communicator [0-9]+, operation 4 isn't issued, and "
                            "no thread is left to issue it"));
  EXPECT_THAT(run.error(),
              Not(ContainsRegex("rank 1: communicator [0-9]+, operation 4 isn't issued "
                                "yet \\(1 behind\\)")));
}

}  // namespace
}  // namespace phalanx::testing_support
