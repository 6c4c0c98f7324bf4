#include "fault_stress/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace phalanx::stress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ScenarioTest, AListHasOneOnEachLine) {
  const auto scenarios = ParseScenarios(
      "# those that matter\n"
      "one: kill rank=1 at=step:3\n"
      "\n"
      "two --nodes a:2,b:2 --spares 1: kill rank={0..3} at=step:3; exit rank=2 at=step:9  # "
      "ends\n");
  ASSERT_TRUE(scenarios.ok()) << scenarios.status();
  ASSERT_EQ(scenarios->size(), 2u);
  EXPECT_EQ((*scenarios)[0].name, "one");
  EXPECT_THAT((*scenarios)[0].faults, ElementsAre("kill rank=1 at=step:3"));
  EXPECT_THAT((*scenarios)[1].options,
              ElementsAre(Pair("--nodes", "a:2,b:2"), Pair("--spares", "1")));
  EXPECT_THAT((*scenarios)[1].faults,
              ElementsAre("kill rank={0..3} at=step:3", "exit rank=2 at=step:9"));
}

TEST(ScenarioTest, WrongListsAreSaidWithTheLine) {
  const auto message = [](const char* text) {
    return std::string(ParseScenarios(text).status().message());
  };
  EXPECT_THAT(message("\none kill"), HasSubstr("line 2: it isn't NAME"));
  EXPECT_THAT(message("one --persist x: kill rank=1 at=step:1"), HasSubstr("'--persist'"));
  EXPECT_THAT(message("one -n: kill rank=1 at=step:1"), HasSubstr("'-n' has no value"));
  EXPECT_THAT(message("one: ;\n"), HasSubstr("it has no fault"));
  EXPECT_THAT(message("one: kill rank={3..1} at=step:1"), HasSubstr("between its braces"));
  EXPECT_THAT(message("one: a\none: b"), HasSubstr("line 2: a second 'one'"));
  EXPECT_THAT(message("# nothing\n"), HasSubstr("no scenario"));
}

TEST(ScenarioTest, NumbersAreDrawnFromAllThatAreAsked) {
  std::mt19937_64 random(7);
  std::set<std::string> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(*Draw("a {0..2}{8..9} b", &random));
  EXPECT_THAT(drawn, ElementsAre("a 08 b", "a 09 b", "a 18 b", "a 19 b", "a 28 b", "a 29 b"));
  EXPECT_EQ(*Draw("none", &random), "none");
  for (const char* wrong : {"{", "{}", "{1}", "{a..b}", "{1..", "{-1..3}"}) {
    EXPECT_FALSE(Draw(wrong, &random).ok()) << wrong;
  }
}

TEST(ScenarioTest, ThoseThatAreBuiltInAreWhole) {
  std::set<std::string> names;
  std::mt19937_64 random;
  for (const Scenario& scenario : BuiltInScenarios()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_FALSE(scenario.summary.empty()) << scenario.name;
    EXPECT_FALSE(scenario.faults.empty()) << scenario.name;
    for (const std::string& fault : scenario.faults) EXPECT_TRUE(Draw(fault, &random).ok());
  }
}

}  // namespace
}  // namespace phalanx::stress
