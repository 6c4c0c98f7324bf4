// `phalanx stress`: what it runs, what it finds, and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using ::testing::HasSubstr;

class StressCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/stress_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    environment_.environment["TMPDIR"] = folder_ + "/tmp";
    std::filesystem::create_directory(folder_ + "/tmp");
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/tmp"));
    std::filesystem::remove_all(folder_);
  }

  static std::vector<std::string> Command(std::vector<std::string> words) {
    words.insert(words.begin(), {PHALANX_COMMAND, "stress", "--seed", "5"});
    return words;
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  // Of one scenario whose faults don't matter, of a program that a shell runs.
  std::vector<std::string> OfScript(const std::string& script,
                                    std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"-n", "2", "--list", Write("list", "it: kill rank=1 at=step:3"),
                                   "--json", folder_ + "/json", "--", "/bin/sh", "-c", script});
    return Command(options);
  }
  nlohmann::json Figures() const {
    std::ifstream file(folder_ + "/json");
    return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  }
  nlohmann::json Only() const { return Figures().at("scenarios").at(0); }

  std::string folder_;
  Subprocess::Options environment_;
};

// The short budget of the tests that always run.
TEST_F(StressCommand, JobsThatSufferFaultsComeToTheirEnd) {
  for (const char* scenario :
       {"kill-rank", "kill-coordinator-stored", "kill-promoted", "flip", "kill-node"}) {
    Subprocess run(Command({"--json", folder_ + "/json", "--timeout", "50", scenario}),
                   environment_);
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.output() << run.error();
    EXPECT_EQ(run.error(), "");
    EXPECT_THAT(run.output(), HasSubstr(std::string("\n") + scenario + " "));
    EXPECT_EQ(Figures().at("seed"), 5);
    EXPECT_EQ(Only().at("scenario"), scenario);
    EXPECT_EQ(Only().at("runs"), 1);
    EXPECT_GE(Only().at("faults"), 1) << scenario;
    EXPECT_GE(Only().at("recoveries"), 1) << scenario;
    EXPECT_GT(Only().at("recovered_ms").at("p50"), 0) << scenario;
  }
}

TEST_F(StressCommand, AListAndRangesAndNodes) {
  const std::string list =
      Write("list",
            "a --nodes localhost:1,localhost:1 --spares 2: exit rank={0..1} at=step:{100..200}\n");
  Subprocess run(Command({"--list", list, "--runs", "2", "--json", folder_ + "/json"}),
                 environment_);
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.output() << run.error();
  EXPECT_EQ(Only().at("runs"), 2);
  EXPECT_EQ(Only().at("faults"), 2);
  EXPECT_EQ(Only().at("recoveries"), 2);
}

TEST_F(StressCommand, AWrongResultIsFound) {
  Subprocess run(OfScript("echo weights 1${PHALANX_FAULTS:+2}"), environment_);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.output();
  EXPECT_EQ(Only().at("wrong_results"), 1);
  EXPECT_EQ(Only().at("hangs"), 0);
  EXPECT_THAT(run.error(), HasSubstr("its digests are 12 12, not 1 1"));
  EXPECT_THAT(run.error(), HasSubstr("--fault 'kill rank=1 at=step:3'")) << "how to see it again";
}

TEST_F(StressCommand, AFailureIsFoundAndSaidWithItsLog) {
  Subprocess run(OfScript("[ -z \"$PHALANX_FAULTS\" ] || { echo no >&2; exit 7; }; echo weights 1"),
                 environment_);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.output();
  EXPECT_EQ(Only().at("wrong_results"), 1);
  EXPECT_THAT(run.error(), HasSubstr("it exited with code 7"));
  EXPECT_THAT(run.error(), HasSubstr("] no"));
}

TEST_F(StressCommand, AHangIsEndedAndFound) {
  Subprocess run(
      OfScript("[ -z \"$PHALANX_FAULTS\" ] || { trap '' TERM; sleep 1000; }; echo weights 1",
               {"--timeout", "2"}),
      environment_);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.output();
  EXPECT_EQ(Only().at("hangs"), 1);
  EXPECT_EQ(Only().at("wrong_results"), 0);
  EXPECT_EQ(Only().at("left_over"), 0) << run.error();
}

TEST_F(StressCommand, AProgramThatFailsByItselfIsNoResult) {
  Subprocess run(OfScript("exit 3"), environment_);
  EXPECT_EQ(run.AwaitExitCode(), 1) << run.output();
  EXPECT_THAT(run.error(), HasSubstr("without a fault: it exited with code 3"));
  Subprocess silent(OfScript("true"), environment_);
  EXPECT_EQ(silent.AwaitExitCode(), 1) << silent.output();
  EXPECT_THAT(silent.error(), HasSubstr("it prints no line with `weights DIGEST`"));
}

TEST_F(StressCommand, CtrlCEndsTheJobAndPrintsWhatWasDone) {
  // The first two end, one without a fault and one with it; the next waits for ever.
  Subprocess run(OfScript("case $PHALANX_STRESS_JOB in */2) exec sleep 1000;; esac; echo weights 1",
                          {"--runs", "1000"}),
                 environment_);
  ASSERT_TRUE(run.AwaitText("seed 5\n"));
  std::vector<pid_t> jobs;
  const auto has_sleepers = [&] {
    jobs = ChildrenOf(run.pid(), "run");
    return jobs.size() == 1 && ChildrenOf(jobs[0], "1000").size() == 2;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!has_sleepers() && std::chrono::steady_clock::now() < end) {
  }
  ASSERT_TRUE(has_sleepers());
  const std::vector<pid_t> children = ChildrenOf(jobs[0], "");
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGINT) << run.error();
  EXPECT_EQ(run.error(), "");
  EXPECT_EQ(Figures().at("interrupted"), true);
  EXPECT_GE(Only().at("runs"), 1);
  for (const pid_t child : children) EXPECT_TRUE(AwaitGone(child));
}

TEST_F(StressCommand, WrongUsage) {
  const std::vector<std::vector<std::string>> wrong = {
      {"no-such-scenario"},
      {"--runs", "0"},
      {"--list", folder_ + "/nothing"},
      {"--list", Write("bad", "nonsense")},
      {"--list", Write("rank", "it: kill rank=9 at=step:3"), "-n", "2"},
      {"--list", Write("fault", "it: murder rank=1 at=step:3"), "-n", "2"},
      {"kill-rank", "--"}};
  for (const std::vector<std::string>& words : wrong) {
    Subprocess run(Command(words), environment_);
    EXPECT_EQ(run.AwaitExitCode(), 2) << testing::PrintToString(words);
    EXPECT_NE(run.error(), "");
  }
  Subprocess scenarios(Command({"--scenarios"}), environment_);
  EXPECT_EQ(scenarios.AwaitExitCode(), 0);
  EXPECT_THAT(scenarios.output(), HasSubstr("kill-rank "));
}

}  // namespace
}  // namespace phalanx::testing_support
