#include "first_state.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::api {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StateRegion Region(const std::string& name, std::vector<int>* values) {
  return {name, values->data(), values->size() * sizeof(int)};
}

std::string MessageOf(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

class FirstStateTest : public ::testing::Test {
 protected:
  FirstStateTest() {
    const StateRegion regions[] = {Region("weights", &weights_), Region("nothing", &nothing_),
                                   Region("velocity", &velocity_)};
    const absl::Status described = state_.Describe(regions);
    EXPECT_TRUE(described.ok()) << described;
    state_.KeepOrRestore(regions);
  }

  std::vector<int> weights_{1, 2, 3};
  std::vector<int> nothing_;
  std::vector<int> velocity_{-4, -5};
  FirstState state_;
};

TEST_F(FirstStateTest, WritesBackWhatItFound) {
  EXPECT_EQ(state_.bytes(), 5 * sizeof(int));
  weights_ = {7, 7, 7};
  velocity_ = {8, 8};
  state_.KeepOrRestore(
      {Region("weights", &weights_), Region("nothing", &nothing_), Region("velocity", &velocity_)});
  EXPECT_THAT(weights_, ElementsAre(1, 2, 3));
  EXPECT_THAT(velocity_, ElementsAre(-4, -5));
  // As often as it is asked.
  weights_ = {9, 9, 9};
  state_.KeepOrRestore(
      {Region("weights", &weights_), Region("nothing", &nothing_), Region("velocity", &velocity_)});
  EXPECT_THAT(weights_, ElementsAre(1, 2, 3));
}

TEST_F(FirstStateTest, TheRegionsMayLieElsewhere) {
  std::vector<int> weights(3);
  std::vector<int> velocity(2);
  const StateRegion moved[] = {
      Region("weights", &weights), {"nothing", nullptr, 0}, Region("velocity", &velocity)};
  ASSERT_TRUE(state_.Compare(moved).ok());
  state_.KeepOrRestore(moved);
  EXPECT_THAT(weights, ElementsAre(1, 2, 3));
  EXPECT_THAT(velocity, ElementsAre(-4, -5));
}

TEST_F(FirstStateTest, DescribingThemAgainChangesNothing) {
  weights_ = {7, 7, 7};
  const StateRegion same[] = {Region("weights", &weights_), Region("nothing", &nothing_),
                              Region("velocity", &velocity_)};
  EXPECT_TRUE(state_.Describe(same).ok());
  EXPECT_THAT(weights_, Each(7)) << "describing writes nothing";
  EXPECT_EQ(state_.bytes(), 5 * sizeof(int));
  state_.KeepOrRestore(same);
  EXPECT_THAT(weights_, ElementsAre(1, 2, 3));
}

TEST_F(FirstStateTest, OtherRegionsAreNamed) {
  std::vector<int> longer(4, 7);
  const StateRegion fewer[] = {Region("weights", &weights_)};
  const StateRegion resized[] = {Region("weights", &longer), Region("nothing", &nothing_),
                                 Region("velocity", &velocity_)};
  const StateRegion renamed[] = {Region("weights", &weights_), Region("nothing", &nothing_),
                                 Region("momentum", &velocity_)};
  const StateRegion swapped[] = {Region("nothing", &nothing_), Region("weights", &weights_),
                                 Region("velocity", &velocity_)};
  EXPECT_THAT(MessageOf(state_.Compare(fewer)),
              HasSubstr("given 1 regions; in this rank's first view it was 3"));
  EXPECT_THAT(
      MessageOf(state_.Compare(resized)),
      HasSubstr("given region \"weights\" of 16 bytes where it was \"weights\" of 12 bytes"));
  EXPECT_THAT(MessageOf(state_.Compare(renamed)),
              HasSubstr("given region \"momentum\" of 8 bytes where it was \"velocity\""));
  EXPECT_THAT(MessageOf(state_.Compare(swapped)), HasSubstr("where it was \"weights\""));
  EXPECT_THAT(MessageOf(state_.Describe(resized)), HasSubstr("\"weights\" of 16 bytes"));
  EXPECT_THAT(longer, Each(7));
  EXPECT_EQ(state_.bytes(), 5 * sizeof(int));
}

TEST(FirstState, TwoRegionsOfOneNameOrWithoutAnAddressAreRefused) {
  std::vector<int> values{1, 2};
  FirstState state;
  EXPECT_THAT(MessageOf(state.Describe({Region("weights", &values), Region("weights", &values)})),
              HasSubstr("two regions are called \"weights\""));
  EXPECT_THAT(MessageOf(state.Describe({{"weights", nullptr, 8}})),
              HasSubstr("region \"weights\" has 8 bytes at no address"));
  EXPECT_EQ(state.bytes(), 0U);
  // Nothing was described: these are the first.
  ASSERT_TRUE(state.Describe({Region("bias", &values)}).ok());
  state.KeepOrRestore({Region("bias", &values)});
  EXPECT_THAT(MessageOf(state.Describe({Region("bias", &values), Region("bias", &values)})),
              HasSubstr("two regions are called \"bias\""));
  values = {0, 0};
  state.KeepOrRestore({Region("bias", &values)});
  EXPECT_THAT(values, ElementsAre(1, 2));
}

TEST_F(FirstStateTest, WhatIsForgottenIsKeptAnew) {
  const StateRegion regions[] = {Region("weights", &weights_), Region("nothing", &nothing_),
                                 Region("velocity", &velocity_)};
  state_.Forget();
  weights_ = {7, 7, 7};
  state_.KeepOrRestore(regions);
  EXPECT_THAT(weights_, Each(7));
  weights_ = {8, 8, 8};
  state_.KeepOrRestore(regions);
  EXPECT_THAT(weights_, Each(7));
}

TEST(FirstState, NoRegionsAreRegionsToo) {
  FirstState state;
  ASSERT_TRUE(state.Describe({}).ok());
  EXPECT_TRUE(state.Compare({}).ok());
  state.KeepOrRestore({});
  std::vector<int> values{1};
  EXPECT_THAT(MessageOf(state.Compare({Region("weights", &values)})), HasSubstr("it was 0"));
}

}  // namespace
}  // namespace phalanx::api
