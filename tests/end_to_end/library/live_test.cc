// Losses that are healed live: nobody goes back, at most one step is computed again, and what all
// have in the end is what they have without a loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSteps = 12;

class Live : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/live_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::vector<std::string> Quietly(std::vector<std::string> options,
                                          const std::vector<std::string>& program) {
    options.insert(options.begin(), {PHALANX_COMMAND, "run"});
    options.push_back("--");
    options.insert(options.end(), program.begin(), program.end());
    return options;
  }
  std::vector<std::string> Command(std::vector<std::string> options,
                                   const std::vector<std::string>& program) {
    events_ = folder_ + "/events" + std::to_string(++jobs_);
    options.insert(options.end(), {"--events", events_});
    return Quietly(std::move(options), program);
  }
  std::vector<std::string> Worker(const std::vector<std::string>& options,
                                  const std::vector<std::string>& kills) {
    std::vector<std::string> program = {LIVE_WORKER, std::to_string(kSteps)};
    program.insert(program.end(), kills.begin(), kills.end());
    return Command(options, program);
  }

  // Of the last job.
  std::vector<Json> Recoveries() const {
    std::vector<Json> recoveries;
    std::ifstream file(events_);
    for (std::string line; std::getline(file, line);) {
      Json event = Json::parse(line);
      if (event["event"] == "recovered") recoveries.push_back(std::move(event));
    }
    return recoveries;
  }

  // So many, or `more`, all live.
  void ExpectLive(const Subprocess& run, size_t count, size_t more = 0) const {
    const std::vector<Json> recoveries = Recoveries();
    EXPECT_GE(recoveries.size(), count) << run.error();
    EXPECT_LE(recoveries.size(), count + more) << run.error();
    for (const Json& recovery : recoveries) {
      EXPECT_EQ(recovery.value("live", 0), 1) << recovery << run.error();
      EXPECT_LE(recovery.value("recomputed", 99), 1) << recovery;
    }
  }

  void ExpectUndisturbed(const Subprocess& run, const std::string& digest, int ranks = 3) const {
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(run.output(), HasSubstr("rank " + std::to_string(rank) + "  weights " + digest))
          << run.error();
    }
    EXPECT_EQ(Count(run.output(), "weights "), ranks) << run.output();
  }

  // Of the worker, without a loss.
  const std::string& WorkerDigest() {
    static auto* const digest = new std::string;
    if (digest->empty()) {
      Subprocess run(Quietly({"-n", "3"}, {LIVE_WORKER, std::to_string(kSteps)}));
      EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
      *digest = Digests(run.output()).empty() ? "none" : Digests(run.output())[0];
    }
    return *digest;
  }

  // Of `train`, 48 steps.
  std::vector<std::string> Train(std::vector<std::string> options,
                                 const std::vector<std::string>& faults,
                                 const std::string& how = "--live") {
    for (const std::string& fault : faults) options.insert(options.end(), {"--fault", fault});
    return Command(std::move(options), {TRAIN, "--epochs", "2", how});
  }
  const std::string& TrainingDigest(const std::vector<std::string>& placed) {
    static auto* const digests = new std::map<std::vector<std::string>, std::string>;
    std::string& digest = (*digests)[placed];
    if (digest.empty()) {
      Subprocess run(Quietly(placed, {TRAIN, "--epochs", "2"}));
      EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
      digest = Digests(run.output()).empty() ? "none" : Digests(run.output())[0];
    }
    return digest;
  }
  // With so many live recoveries, on four ranks.
  void ExpectTraining(int spares, const std::vector<std::string>& faults, size_t recoveries,
                      size_t more = 0) {
    Subprocess run(Train({"-n", "4", "--spares", std::to_string(spares)}, faults));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbed(run, TrainingDigest({"-n", "4"}), 4);
    ExpectLive(run, recoveries, more);
  }

  std::string folder_;
  std::string events_;
  int jobs_ = 0;
};

TEST_F(Live, ALossAtEveryPointOfAStepWithTwoCommunicators) {
  const std::map<std::string, std::vector<int>> goes_on_from = {{"first", {5}},   {"between", {5}},
                                                                {"vote", {5, 6}}, {"voted", {5}},
                                                                {"apply", {6}},   {"applied", {6}}};
  for (const auto& [where, steps] : goes_on_from) {
    for (const int rank : {0, 2}) {
      Subprocess run(
          Worker({"-n", "3", "--spares", "1"}, {"1:" + std::to_string(rank) + ":5:" + where}));
      ASSERT_EQ(run.AwaitExitCode(), 0) << where << "\n" << run.error();
      ExpectUndisturbed(run, WorkerDigest());
      ExpectLive(run, 1);
      for (const Json& recovery : Recoveries()) {
        EXPECT_THAT(steps, ::testing::Contains(recovery["step"].get<int>())) << where << recovery;
      }
      EXPECT_THAT(run.error(), HasSubstr("recovered live in")) << where;
      // The others have applied each step, and once.
      EXPECT_EQ(Count(run.output(), "applied 0 to 11"), 2) << where << run.output();
    }
  }
}

TEST_F(Live, WithoutALossItIsTheSameTraining) { ExpectTraining(0, {}, 0); }

TEST_F(Live, AtTheFirstAndTheLastStepToo) {
  for (const char* fault : {"kill rank=0 at=step:0", "segfault rank=3 at=step:20",
                            "exit rank=1 at=step:47", "stop rank=2 at=step:30"}) {
    ExpectTraining(1, {fault}, 1);
  }
}

TEST_F(Live, AtAnyTime) {
  for (int ms = 60; ms <= 300; ms += 40) {
    Subprocess run(
        Train({"-n", "4", "--spares", "1"}, {"kill rank=1 at=time:" + std::to_string(ms) + "ms"}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbed(run, TrainingDigest({"-n", "4"}), 4);
    // It may have been over by then, or not have begun with the first step.
    for (const Json& recovery : Recoveries()) {
      EXPECT_TRUE(recovery.value("live", 0) == 1 || recovery["step"] == 0) << recovery;
    }
  }
}

TEST_F(Live, SeveralLosses) {
  ExpectTraining(2, {"kill rank=1 at=step:20", "kill rank=3 at=step:20"}, 1, 1);
  ExpectTraining(2, {"kill rank=1 at=step:20", "kill rank=1 at=step:21"}, 2);
  ExpectTraining(3, {"kill rank=0 at=step:9", "kill rank=1 at=step:9", "kill rank=3 at=step:9"}, 1,
                 2);
}

// The signal may come when the copy is complete already.
TEST_F(Live, WhoCopiesOrIsCopiedFromIsLost) {
  ExpectTraining(2, {"kill rank=2 at=step:20", "kill rank=2 at=point:restoring"}, 1, 1);
  // One of the others gives it.
  for (const char* source : {"0", "1", "3"}) {
    ExpectTraining(
        2, {"kill rank=2 at=step:20", std::string("kill rank=") + source + " at=point:restoring"},
        1, 1);
  }
}

TEST_F(Live, ARankIsLostAgainAndAgain) {
  std::vector<std::string> kills;
  for (int epoch = 1; epoch <= 5; ++epoch) {
    kills.push_back(std::to_string(epoch) + ":" + std::to_string(epoch % 3) + ":" +
                    std::to_string(2 * epoch) + (epoch % 2 == 0 ? ":vote" : ":apply"));
  }
  Subprocess run(Worker({"-n", "3", "--spares", "5"}, kills));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbed(run, WorkerDigest());
  ExpectLive(run, 5);
}

TEST_F(Live, TheCoordinatorIsLost) {
  Subprocess run(Train({"-n", "4"}, {"kill coordinator at=point:voted"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbed(run, TrainingDigest({"-n", "4"}), 4);
  ExpectLive(run, 1);
  // All had voted, and nobody had heard of it.
  ASSERT_EQ(Recoveries().size(), 1u);
  EXPECT_EQ(Recoveries()[0]["step"], 1) << run.error();

  ExpectTraining(1, {"kill rank=2 at=step:20", "kill coordinator at=point:revoked"}, 1);
  ExpectTraining(1, {"kill rank=2 at=step:20", "kill coordinator at=point:restoring"}, 1, 1);
  ExpectTraining(1, {"kill rank=2 at=step:20", "kill coordinator at=point:restored"}, 2);
}

TEST_F(Live, ANodeIsLost) {
  for (const char* fault : {"kill node=1 at=point:voted", "kill node=2 at=point:voted"}) {
    const std::vector<std::string> placed = {"--nodes", "localhost:1,localhost:1,localhost:2"};
    std::vector<std::string> options = placed;
    options.insert(options.end(), {"--spares", "6"});
    Subprocess run(Train(options, {fault}));
    ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
    ExpectUndisturbed(run, TrainingDigest(placed), 4);
    ExpectLive(run, 1);
  }
}

TEST_F(Live, WhenAllAreLostTheyBeginAnewOrFromACheckpoint) {
  const std::vector<std::string> all = {"1:0:8:apply", "1:1:8:apply", "1:2:8:apply"};
  Subprocess anew(Worker({"-n", "3", "--spares", "3"}, all));
  ASSERT_EQ(anew.AwaitExitCode(), 0) << anew.error();
  ExpectUndisturbed(anew, WorkerDigest());
  EXPECT_THAT(anew.error(), HasSubstr("can't be healed live")) << anew.error();
  EXPECT_THAT(anew.error(), HasSubstr("all ranks go on from step 0 ")) << anew.error();
  ASSERT_EQ(Recoveries().size(), 1u);
  EXPECT_FALSE(Recoveries()[0].contains("live"));

  std::vector<std::string> kills = all;
  kills.insert(kills.begin(), "save");
  Subprocess saved(Worker({"-n", "3", "--spares", "3"}, kills));
  ASSERT_EQ(saved.AwaitExitCode(), 0) << saved.error();
  ExpectUndisturbed(saved, WorkerDigest());
  EXPECT_THAT(saved.error(), HasSubstr("can't be healed live")) << saved.error();
  EXPECT_THAT(saved.error(), Not(HasSubstr("all ranks go on from step 0 "))) << saved.error();
}

TEST_F(Live, WithCheckpointsBesideALossIsHealedLiveAllTheSame) {
  Subprocess run(Worker({"-n", "3", "--spares", "2"}, {"save", "1:2:5:between", "2:0:8:apply"}));
  ASSERT_EQ(run.AwaitExitCode(), 0) << run.error();
  ExpectUndisturbed(run, WorkerDigest());
  ExpectLive(run, 2);
}

TEST_F(Live, WithoutASpareWhoeverWaitsInAStepHearsOfTheEnd) {
  Subprocess run(Worker({"-n", "3"}, {"1:2:5:vote"}));
  EXPECT_EQ(run.AwaitExitCode(), 128 + 9) << run.error();
}

}  // namespace
}  // namespace phalanx::testing_support
