#include "control_emulation/cluster_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace phalanx::control {
namespace {

using testing::HasSubstr;

TEST(ClusterShape, Parses) {
  EXPECT_EQ(*ParseClusterShape("4x2@1gbit"), (ClusterShape{{2, 2, 2, 2}, 1'000'000'000}));
  EXPECT_EQ(*ParseClusterShape("1,2,4@200mbit"), (ClusterShape{{1, 2, 4}, 200'000'000}));
  EXPECT_EQ(*ParseClusterShape("3@1.5gbit"), (ClusterShape{{3}, 1'500'000'000}));
  EXPECT_EQ(*ParseClusterShape("2x1@64kbit"), (ClusterShape{{1, 1}, 64'000}));
  EXPECT_EQ(*ParseClusterShape("2x1@8000bit"), (ClusterShape{{1, 1}, 8'000}));
  EXPECT_EQ(ParseClusterShape("200x1@1mbit")->ranks.size(), 200u);
}

TEST(ClusterShape, SaysWhatIsWrong) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "'' is no cluster; write it as 4x2@1gbit"},
           {"4x2", "'4x2' is no cluster"},
           {"4x2@1gbit@2", "is no cluster"},
           {"x2@1gbit", "'' is no number of nodes from 1 to 200"},
           {"201x1@1gbit", "'201' is no number of nodes"},
           {"0x1@1gbit", "'0' is no number of nodes"},
           {"4x0@1gbit", "'0' is no number of ranks"},
           {"4x2x2@1gbit", "'4x2x2' is no number of ranks"},
           {"1,,2@1gbit", "'' is no number of ranks"},
           {"1,-2@1gbit", "'-2' is no number of ranks"},
           {"4x2@", "'' is no rate; write it as 1gbit"},
           {"4x2@1", "'1' is no rate"},
           {"4x2@gbit", "'gbit' is no rate"},
           {"4x2@1gbyte", "'1gbyte' is no rate"},
           {"4x2@nangbit", "'nangbit' is no rate"},
           {"4x2@1kbit", "the rate '1kbit' isn't between"},
           {"4x2@-1gbit", "the rate '-1gbit' isn't between"},
           {"4x2@101gbit", "the rate '101gbit' isn't between"}}) {
    const absl::Status status = ParseClusterShape(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part)) << text;
  }
}

TEST(ClusterShape, RatesAreSaidInTheirLargestWholeUnit) {
  EXPECT_EQ(RateText(1'000'000'000), "1gbit");
  EXPECT_EQ(RateText(1'500'000'000), "1500mbit");
  EXPECT_EQ(RateText(64'000), "64kbit");
  EXPECT_EQ(RateText(8'001), "8001bit");
}

}  // namespace
}  // namespace phalanx::control
