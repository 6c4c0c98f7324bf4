// What a description of a deadlock simulation may say, and what is said about a wrong one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulate/deadlock.h"

namespace phalanx::simulate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSmall[] = R"({"name": "small", "model": "single_queue", "disorder": 0.25,
  "groups": [{"ranks": [2, 0, 1], "collectives": 5}, {"ranks": [1, 3], "collectives": 7}],
  "rounds": 10})";

std::string With(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const auto config = ParseDeadlockConfig(text);
  if (config.ok()) return "";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

TEST(DeadlockConfig, HoldsWhatTheTextSays) {
  const auto config = ParseDeadlockConfig(kSmall);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name, "small");
  EXPECT_EQ(config->ranks, 4);
  ASSERT_EQ(config->groups.size(), 2U);
  EXPECT_THAT(config->groups[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(config->groups[1].collectives, 7);
  EXPECT_EQ(config->model, Model::kSingleQueue);
  EXPECT_EQ(config->interface, Interface::kKey);
  EXPECT_EQ(config->disorder, 0.25);
  EXPECT_EQ(config->rounds, 10U);
  EXPECT_EQ(config->phalanx_rounds, 10U);
  EXPECT_FALSE(config->published.has_value());
}

TEST(DeadlockConfig, DecomposesInThreeDimensions) {
  const auto config = ParseDeadlockConfig(
      With(R"([{"ranks": [2, 0, 1], "collectives": 5}, {"ranks": [1, 3], "collectives": 7}])",
           R"({"tensor_parallel": 3, "data_parallel": 2, "pipeline_parallel": 2,
          "collectives_per_tensor_group": 4, "collectives_per_data_group": 9})"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ranks, 12);
  ASSERT_EQ(config->groups.size(), 10U);
  EXPECT_THAT(config->groups[1].ranks, ElementsAre(3, 4, 5));
  EXPECT_EQ(config->groups[1].collectives, 4);
  EXPECT_THAT(config->groups[2].ranks, ElementsAre(0, 3));
  EXPECT_EQ(config->groups[2].collectives, 9);
  EXPECT_THAT(config->groups[9].ranks, ElementsAre(8, 11));
}

TEST(DeadlockConfig, NamesTheWrongField) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("isn't JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(ErrorOf(With("\"rounds\": 10", "\"rounds\": 0")), HasSubstr("\"rounds\" must be"));
  EXPECT_THAT(ErrorOf(With("0.25", "1.5")), HasSubstr("\"disorder\" must be a number from 0 to 1"));
  EXPECT_THAT(ErrorOf(With("0.25", "\"much\"")), HasSubstr("\"disorder\""));
  EXPECT_THAT(ErrorOf(With("\"disorder\": 0.25,", "")), HasSubstr("\"disorder\" is missing"));
  EXPECT_THAT(ErrorOf(With("single_queue", "queue")),
              HasSubstr("\"model\" must be one of single_queue, synchronisation"));
  EXPECT_THAT(ErrorOf(With("single_queue", "synchronisation")),
              HasSubstr("\"synchronisation\" is missing"));
  EXPECT_THAT(ErrorOf(With("\"rounds\": 10", "\"rounds\": 10, \"synchronisation\": 0.1")),
              HasSubstr("no meaning"));
  EXPECT_THAT(ErrorOf(With("\"rounds\": 10", "\"rounds\": 10, \"speed\": 1")),
              HasSubstr("\"speed\" isn't known"));
  EXPECT_THAT(ErrorOf(With("\"rounds\": 10", "\"rounds\": 10, \"published\": {\"rounds\": 3}")),
              HasSubstr("\"published.rate\" is missing"));
}

TEST(DeadlockConfig, NamesTheWrongGroup) {
  EXPECT_THAT(ErrorOf(With("[1, 3]", "[1, 1]")), HasSubstr("\"groups[1].ranks\""));
  EXPECT_THAT(ErrorOf(With("[1, 3]", "[1]")), HasSubstr("two or more"));
  EXPECT_THAT(ErrorOf(With("[1, 3]", "[1, -3]")), HasSubstr("\"groups[1].ranks\""));
  EXPECT_THAT(ErrorOf(With("[1, 3]", "[1, 4]")), HasSubstr("each rank from 0 to 4"));
  EXPECT_THAT(ErrorOf(With("\"collectives\": 7", "\"collectives\": 0")),
              HasSubstr("\"groups[1].collectives\""));
  EXPECT_THAT(ErrorOf(R"({"groups": []})"), HasSubstr("\"groups\" must be an array"));
}

TEST(DeadlockConfig, NamesTheFile) {
  const auto missing = ReadDeadlockConfig("/nonexistent/x.json");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/nonexistent/x.json"));
}

}  // namespace
}  // namespace phalanx::simulate
