#include "summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace phalanx::stress {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome WithRecoveries(std::vector<Recovery> recoveries) {
  Outcome outcome;
  outcome.history.faults = static_cast<int>(recoveries.size());
  outcome.history.recoveries = std::move(recoveries);
  return outcome;
}

TEST(SummaryTest, Quantiles) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({4}, 0.99), 4);
  EXPECT_EQ(Quantile({5, 1, 2, 4, 3}, 0.5), 3);
  EXPECT_EQ(Quantile({5, 1, 2, 4, 3}, 0.99), 5);
}

TEST(SummaryTest, AddsUpRunByRun) {
  Summary summary({"first", "second", "third"});
  summary.Add("first", WithRecoveries({{3000, 1000, 2000}, {5000, 2000, 3000}}), {});
  EXPECT_TRUE(summary.AllGood());
  Verdict bad;
  bad.hung = true;
  bad.lost = true;
  summary.Add("second", {}, bad);
  summary.Add("second", {}, {});
  EXPECT_FALSE(summary.AllGood());
  const std::string table = summary.Table();
  EXPECT_THAT(table, HasSubstr("5.0 / 5.0"));
  EXPECT_THAT(table, HasSubstr("second"));
  EXPECT_THAT(table, Not(HasSubstr("third"))) << "it never ran";
  const auto json = nlohmann::json::parse(summary.Json(42, true));
  EXPECT_EQ(json.at("seed"), 42);
  EXPECT_EQ(json.at("interrupted"), true);
  const auto& first = json.at("scenarios").at(0);
  EXPECT_EQ(first.at("runs"), 1);
  EXPECT_EQ(first.at("faults"), 2);
  EXPECT_EQ(first.at("recoveries"), 2);
  EXPECT_EQ(first.at("restored_ms").at("max"), 3.0);
  const auto& second = json.at("scenarios").at(1);
  EXPECT_EQ(second.at("runs"), 2);
  EXPECT_EQ(second.at("hangs"), 1);
  EXPECT_EQ(second.at("wrong_results"), 0);
  EXPECT_EQ(second.at("lost_checkpoints"), 1);
  EXPECT_EQ(second.count("recovered_ms"), 0u);
}

}  // namespace
}  // namespace phalanx::stress
