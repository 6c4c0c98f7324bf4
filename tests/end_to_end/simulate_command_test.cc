// `phalanx simulate` as a user meets it: its words, its exit codes, its files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {
namespace {

using testing::HasSubstr;

std::vector<std::string> Simulate(std::vector<std::string> words) {
  words.insert(words.begin(), {PHALANX_COMMAND, "simulate"});
  return words;
}

std::string Example(const std::string& name) {
  return std::string(DEADLOCK_EXAMPLES) + "/" + name + ".json";
}

// A file of this process alone, gone with the test.
class TemporaryFile {
 public:
  TemporaryFile() : path_(testing::TempDir() + "/simulate." + std::to_string(getpid()) + ".json") {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }
  std::string Read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  const std::string path_;
};

void ExpectUsageError(const std::vector<std::string>& words, const std::string& text) {
  Subprocess run(Simulate(words));
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(), HasSubstr(text));
  EXPECT_EQ(run.output(), "");
}

TEST(Simulate, DeadlockPrintsRatesAndWritesThem) {
  const TemporaryFile json;
  Subprocess run(Simulate({"deadlock", "--config", Example("8_ranks_1e-3"), "--rounds", "200",
                           "--phalanx-rounds", "5", "--json", json.path()}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.output(), HasSubstr("plain launch, published rule"));
  EXPECT_THAT(run.output(), HasSubstr("of 200 rounds; 95 %: "));
  EXPECT_THAT(run.output(), HasSubstr("72.700 %"));
  EXPECT_THAT(run.output(), HasSubstr("0.000 %   (0 of 5 rounds;"));
  EXPECT_THAT(run.output(), HasSubstr("Phalanx ran the first 5 of the 200 rounds"));
  EXPECT_THAT(json.Read(), HasSubstr("\"completed_collectives\": 805"));
}

TEST(Simulate, OrderPrintsMessagesAndWritesThem) {
  const TemporaryFile json;
  Subprocess run(Simulate({"order", "--ranks", "64", "--communicators", "8", "--members", "8",
                           "--ops-per-communicator", "2", "--json", json.path()}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.output(), HasSubstr("128 received, 128 sent: 8.00 and 8.00 an operation"));
  EXPECT_THAT(run.output(), HasSubstr("tickets a second"));
  EXPECT_THAT(json.Read(), HasSubstr("\"to_coordinator\": 128"));
}

TEST(Simulate, CertifiedOrderSendsNothing) {
  Subprocess run(Simulate(
      {"order", "--ranks", "64", "--communicators", "8", "--members", "8", "--mode", "certified"}));
  EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
  EXPECT_THAT(run.output(), HasSubstr("0 in all, 0.000 an operation"));
}

TEST(Simulate, HelpNamesEveryOption) {
  Subprocess all(Simulate({"--help"}));
  EXPECT_EQ(all.AwaitExitCode(), 0);
  EXPECT_THAT(all.output(), HasSubstr("deadlock"));
  EXPECT_THAT(all.output(), HasSubstr("order"));
  Subprocess deadlock(Simulate({"deadlock", "--help"}));
  EXPECT_EQ(deadlock.AwaitExitCode(), 0);
  for (const char* option : {"--config", "--rounds", "--phalanx-rounds", "--seed", "--json"}) {
    EXPECT_THAT(deadlock.output(), HasSubstr(option));
  }
  Subprocess order(Simulate({"order", "--help"}));
  EXPECT_EQ(order.AwaitExitCode(), 0);
  for (const char* option : {"--ranks", "--communicators", "--ranks-per-node", "--members",
                             "--stride", "--ops-per-communicator", "--slots", "--mode", "--json"}) {
    EXPECT_THAT(order.output(), HasSubstr(option));
  }
}

TEST(Simulate, SaysWhatIsWrong) {
  ExpectUsageError({}, "subcommand");
  ExpectUsageError({"deadlock"}, "--config is required");
  ExpectUsageError({"deadlock", "--config", "/nonexistent/x.json"}, "/nonexistent/x.json");
  ExpectUsageError({"deadlock", "--config", PHALANX_COMMAND}, "isn't JSON");
  ExpectUsageError({"deadlock", "--config", Example("8_ranks_1e-3"), "--rounds", "0"}, "--rounds");
  ExpectUsageError({"order", "--ranks", "many"}, "--ranks");
  ExpectUsageError({"order", "--mode", "fast"}, "--mode");
  ExpectUsageError({"order", "--colour"}, "--colour");
  ExpectUsageError({"order", "--ranks", "8"}, "--members 64 is more than --ranks 8");
}

TEST(Simulate, AnInterruptEndsIt) {
  const TemporaryFile json;
  Subprocess run(Simulate({"deadlock", "--config", Example("64_ranks_4x4x4"), "--rounds",
                           "100000000", "--json", json.path()}));
  run.Signal(SIGINT);
  EXPECT_EQ(run.AwaitExitCode(), 128 + SIGINT);
  EXPECT_FALSE(std::filesystem::exists(json.path()));
}

}  // namespace
}  // namespace phalanx::testing_support
