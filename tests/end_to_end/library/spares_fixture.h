// Jobs with spares whose processes a test kills from outside.
#ifndef PHALANX_TESTS_END_TO_END_LIBRARY_SPARES_FIXTURE_H_
#define PHALANX_TESTS_END_TO_END_LIBRARY_SPARES_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {

// Far more than a recovery takes, far less than the deadline of the operations that it ends.
inline constexpr auto kSoon = std::chrono::seconds(20);

class SparesFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/spares_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Done() const { return folder_ + "/done"; }
  void LetEnd() const { std::ofstream(Done()) << "yes"; }

  std::vector<std::string> UntilDone(std::vector<std::string> options) const {
    return Command(std::move(options), {RECOVERY_WORKER, "until", Done()});
  }
  static std::vector<std::string> Command(std::vector<std::string> options,
                                          const std::vector<std::string>& program) {
    options.insert(options.begin(), {PHALANX_COMMAND, "run"});
    options.push_back("--");
    options.insert(options.end(), program.begin(), program.end());
    return options;
  }

  // The process whose lines come out with that label.
  static pid_t PidOf(const Subprocess& run, const std::string& label) {
    const std::vector<pid_t> pids = NumbersAfter(run.output(), "[" + label + "] pid ");
    EXPECT_EQ(pids.size(), 1u) << run.output();
    return pids.empty() ? 0 : pids[0];
  }
  static void Kill(pid_t pid) {
    ASSERT_GT(pid, 0);
    kill(pid, SIGKILL);
  }
  static void ExpectSums(const Subprocess& run, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string line =
          "rank " + std::to_string(rank) + " sum " + std::to_string(ranks * (ranks + 1) / 2) + "\n";
      EXPECT_EQ(Count(run.output(), line), 1) << line << run.output();
    }
  }
  static void ExpectNobodyLeft(const Subprocess& run) {
    for (const pid_t pid : NumbersAfter(run.output(), "] pid ")) {
      EXPECT_TRUE(AwaitGone(pid)) << "process " << pid << " is left";
    }
  }

  std::string folder_;
};

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_LIBRARY_SPARES_FIXTURE_H_
