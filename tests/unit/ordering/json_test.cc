// An example of each kind of report as JSON, in full but for its text, which explanation_test
// holds.
#include "ordering_json/json.h"

#include <string>

#include "gtest/gtest.h"
#include "ordering/explain.h"

namespace phalanx::ordering {
namespace {

using nlohmann::json;
using Kind = Explanation::Kind;
using Why = Explanation::Line::Why;

constexpr Signature kSum = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};
const OpName kA = {Lane::Of({1}), 0};
const OpName kB = {Lane::Of({2}), 7};

const json kJsonA = {{"name", "communicator 1, operation 0"}, {"communicator", 1}, {"sequence", 0}};
const json kJsonB = {{"name", "communicator 2, operation 7"}, {"communicator", 2}, {"sequence", 7}};

Explanation::Line LineAbout(int rank, Why why, const OpName& op) {
  Explanation::Line line;
  line.rank = rank;
  line.why = why;
  line.op = op;
  return line;
}

// Without what is the same in every report: its text and remedy are the explanation's own.
json Checked(const Explanation& explanation) {
  json object = ToJson(explanation);
  EXPECT_EQ(object.at("text"), Describe(explanation));
  EXPECT_EQ(object.at("remedy"), RemedyOf(explanation.kind));
  object.erase("text");
  object.erase("remedy");
  return object;
}

TEST(JsonTest, Cycle) {
  Explanation cycle;
  cycle.kind = Kind::kCycle;
  cycle.lines = {LineAbout(1, Why::kStream, kA), LineAbout(0, Why::kHost, kB)};
  cycle.lines[0].signature = kSum;
  cycle.lines[0].stream = 3;
  cycle.lines[0].call_site = "train.cc:120";
  cycle.lines[0].waits_for = kB;
  cycle.lines[1].waits_for = kA;
  cycle.aborted = {kA, kB};
  EXPECT_EQ(Checked(cycle),
            (json{{"kind", "cycle"},
                  {"lines",
                   {{{"rank", 1},
                     {"why", "stream"},
                     {"op", kJsonA},
                     {"signature", "all_reduce of 1024 float (sum)"},
                     {"stream", 3},
                     {"call_site", "train.cc:120"},
                     {"waits_for", kJsonB}},
                    {{"rank", 0}, {"why", "host"}, {"op", kJsonB}, {"waits_for", kJsonA}}}},
                  {"difference", nullptr},
                  {"aborted", {kJsonA, kJsonB}}}));
}

TEST(JsonTest, AbsentRank) {
  Explanation absent;
  absent.kind = Kind::kAbsentRank;
  absent.lines = {LineAbout(2, Why::kAbsent, kA)};
  EXPECT_EQ(Checked(absent),
            (json{{"kind", "absent rank"},
                  {"lines", json::array({{{"rank", 2}, {"why", "absent"}, {"op", kJsonA}}})},
                  {"difference", nullptr},
                  {"aborted", json::array()}}));
}

TEST(JsonTest, RankBehind) {
  Explanation behind;
  behind.kind = Kind::kRankBehind;
  behind.lines = {LineAbout(2, Why::kBehind, kB)};
  behind.lines[0].behind = 4;
  EXPECT_EQ(Checked(behind),
            (json{{"kind", "rank behind"},
                  {"lines",
                   json::array({{{"rank", 2}, {"why", "behind"}, {"op", kJsonB}, {"behind", 4}}})},
                  {"difference", nullptr},
                  {"aborted", json::array()}}));
}

TEST(JsonTest, DeviceWait) {
  Explanation device;
  device.kind = Kind::kDeviceWait;
  device.lines = {LineAbout(0, Why::kDevice, kA)};
  device.lines[0].waits_for = kA;
  device.aborted = {kA};
  EXPECT_EQ(
      Checked(device),
      (json{
          {"kind", "device wait"},
          {"lines",
           json::array({{{"rank", 0}, {"why", "device"}, {"op", kJsonA}, {"waits_for", kJsonA}}})},
          {"difference", nullptr},
          {"aborted", json::array({kJsonA})}}));
}

TEST(JsonTest, Mismatch) {
  Signature other = kSum;
  other.count = 1022;
  EXPECT_EQ(Checked(ExplainMismatch(kA, {0, kSum}, {1, other})),
            (json{{"kind", "mismatch"},
                  {"lines",
                   {{{"rank", 0},
                     {"why", "differs"},
                     {"op", kJsonA},
                     {"signature", "all_reduce of 1024 float (sum)"}},
                    {{"rank", 1},
                     {"why", "differs"},
                     {"op", kJsonA},
                     {"signature", "all_reduce of 1022 float (sum)"}}}},
                  {"difference", {{"field", "count"}, {"left", "1024"}, {"right", "1022"}}},
                  {"aborted", json::array({kJsonA})}}));
}

TEST(JsonTest, NamesOfOperations) {
  EXPECT_EQ(ToJson(OpName{Lane::OfPair({3}, 5, 6), 1}),
            (json{{"name", "communicator 3, message 1 from rank 5 to rank 6"},
                  {"communicator", 3},
                  {"sequence", 1},
                  {"source", 5},
                  {"destination", 6}}));
  const Lane key = Lane::OfKey({3}, "layer");
  EXPECT_EQ(ToJson(OpName{key, 2}).at("key"), key.detail);
}

TEST(JsonTest, ALineIsOneLineOfUtf8) {
  EXPECT_EQ(LineOf(json{{"text", "a\nb\xff"}}), "{\"text\":\"a\\nb\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace phalanx::ordering
