// What is tried when a rank is lost, and in which order: `phalanx run --on-loss`. And how often
// programs save: `--checkpoint-every`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "spares_fixture.h"
#include "subprocess.h"
#include "weights.h"

namespace phalanx::testing_support {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class OnLoss : public SparesFixture {
 protected:
  static std::vector<std::string> Train(std::vector<std::string> options) {
    return Command(std::move(options), {"train", "--epochs", "2"});
  }
  static void ExpectUndisturbed(Subprocess& run, const std::vector<std::string>& placed) {
    Subprocess undisturbed(Train(placed));
    ASSERT_EQ(undisturbed.AwaitExitCode(), 0) << undisturbed.error();
    EXPECT_EQ(run.AwaitExitCode(), 0) << run.error();
    EXPECT_EQ(Digests(run.output()), Digests(undisturbed.output())) << run.output();
    EXPECT_EQ(Count(run.error(), "recovered in "), 1) << run.error();
  }
  std::vector<Json> Events(const std::string& name) const {
    std::vector<Json> events;
    std::ifstream file(folder_ + "/events");
    for (std::string line; std::getline(file, line);) {
      Json event = Json::parse(line);
      if (event["event"] == name) events.push_back(std::move(event));
    }
    return events;
  }
};

TEST_F(OnLoss, ANewProcessTakesThePlaceAlthoughASpareWaits) {
  const std::string nodes = "localhost:2,localhost:2";
  Subprocess run(Train({"--nodes", nodes, "--spares", "2", "--max-restarts", "1", "--on-loss",
                        "restart,spare,fail", "--fault", "kill rank=3 at=step:20"}));
  ExpectUndisturbed(run, {"--nodes", nodes});
  EXPECT_THAT(run.error(), HasSubstr("started another process: spare 1 on localhost\n"));
  EXPECT_THAT(run.output(), HasSubstr("[spare 1] rank 3  weights"));
}

TEST_F(OnLoss, ASpareIsTakenOnceNoProcessCanBeStarted) {
  Subprocess run(Train({"-n", "4", "--spares", "1", "--on-loss", "restart,spare", "--fault",
                        "kill rank=2 at=step:20"}));
  ExpectUndisturbed(run, {"-n", "4"});
  EXPECT_THAT(run.output(), HasSubstr("[spare 0] rank 2  weights"));
}

TEST_F(OnLoss, SparesAloneAreNotStartedAnew) {
  Subprocess run(Train({"-n", "4", "--spares", "1", "--max-restarts", "2", "--on-loss", "spare",
                        "--fault", "kill rank=2 at=step:20"}));
  ExpectUndisturbed(run, {"-n", "4"});
  EXPECT_THAT(run.error(), Not(HasSubstr("started another process")));
  EXPECT_THAT(run.error(), HasSubstr("the job survives the loss of 1 rank, of the coordinator;"));
}

TEST_F(OnLoss, FailEndsTheJobAlthoughThereAreSpares) {
  Subprocess run(Train({"-n", "4", "--spares", "1", "--max-restarts", "1", "--on-loss", "fail",
                        "--fault", "exit rank=2 at=step:20 code=9"}));
  EXPECT_EQ(run.AwaitExitCode(), 9) << run.error();
  EXPECT_THAT(run.error(), HasSubstr("the job survives the loss of no rank, of the coordinator;"));
  EXPECT_THAT(run.error(), Not(HasSubstr("takes the place")));
}

TEST_F(OnLoss, WhatMakesNoSenseIsRefused) {
  Subprocess run(Train({"-n", "1", "--on-loss", "spare,pray"}));
  EXPECT_EQ(run.AwaitExitCode(), 2);
  EXPECT_THAT(run.error(), HasSubstr("--on-loss: it has 'pray'; wanted are spare, restart, shrink "
                                     "and fail, with commas between"));
}

TEST_F(OnLoss, OnlyEachSoManyethStepIsSaved) {
  Subprocess run(Train({"-n", "2", "--spares", "1", "--checkpoint-every", "10", "--events",
                        folder_ + "/events", "--fault", "kill rank=1 at=step:27"}));
  ExpectUndisturbed(run, {"-n", "2"});
  const std::vector<Json> committed = Events("committed");
  EXPECT_FALSE(committed.empty());
  for (const Json& event : committed) EXPECT_EQ((event["version"].get<int>() + 1) % 10, 0) << event;
  const std::vector<Json> recovered = Events("recovered");
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0]["step"].get<int>() % 10, 0) << recovered[0];
}

}  // namespace
}  // namespace phalanx::testing_support
