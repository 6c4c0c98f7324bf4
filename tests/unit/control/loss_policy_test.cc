#include "control_protocol/loss_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "control_protocol/job_settings.h"

namespace phalanx::control {
namespace {

using testing::HasSubstr;

LossPolicy::Steps StepsOf(const std::string& text, bool can_shrink = false) {
  return LossPolicy::Parse(text).value().For(can_shrink);
}

std::string WhyNot(const std::string& text) {
  const absl::Status status = LossPolicy::Parse(text).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
  return std::string(status.message());
}

TEST(LossPolicy, ByDefaultAllIsTried) {
  EXPECT_EQ(LossPolicy().ToText(), "spare,restart,shrink,fail");
  EXPECT_EQ(LossPolicy::Parse("spare,restart,shrink,fail").value(), LossPolicy());
}

TEST(LossPolicy, AnEndWithoutAWordIsAFailure) {
  EXPECT_EQ(LossPolicy::Parse(" restart, spare ").value().ToText(), "restart,spare,fail");
}

TEST(LossPolicy, WhatWouldNeverBeTriedIsRefused) {
  EXPECT_THAT(WhyNot(""), HasSubstr("an empty word"));
  EXPECT_THAT(WhyNot("spare,"), HasSubstr("an empty word"));
  EXPECT_THAT(WhyNot("spare,pray"), HasSubstr("'pray'; wanted are spare, restart, shrink"));
  EXPECT_THAT(WhyNot("Spare"), HasSubstr("'Spare'"));
  EXPECT_THAT(WhyNot("spare,restart,spare"), HasSubstr("'spare' twice"));
  EXPECT_THAT(WhyNot("fail,spare"), HasSubstr("'spare' after 'fail'"));
}

TEST(LossPolicy, TheOrderCounts) {
  const LossPolicy::Steps both = StepsOf("spare,restart");
  EXPECT_TRUE(both.spares && both.restarts && !both.restarts_first);
  const LossPolicy::Steps other = StepsOf("restart,spare");
  EXPECT_TRUE(other.spares && other.restarts && other.restarts_first);
  const LossPolicy::Steps none = StepsOf("fail");
  EXPECT_FALSE(none.spares || none.restarts || none.shrinks);
}

TEST(LossPolicy, AfterShrinkingNothingIsTried) {
  const LossPolicy::Steps shrinks = StepsOf("spare,shrink,restart", /*can_shrink=*/true);
  EXPECT_TRUE(shrinks.spares && shrinks.shrinks && !shrinks.restarts);
  const LossPolicy::Steps cannot = StepsOf("spare,shrink,restart");
  EXPECT_TRUE(cannot.spares && !cannot.shrinks && cannot.restarts);
}

TEST(LossPolicy, RanksThatDifferAreTold) {
  JobSettings left, right;
  right.on_loss = LossPolicy::Parse("fail").value();
  const auto difference = Compare(left, right);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->variable, "PHALANX_ON_LOSS");
  EXPECT_EQ(difference->left, "spare,restart,shrink,fail");
  EXPECT_EQ(difference->right, "fail");
  right = left;
  right.checkpoint_every = 10;
  EXPECT_EQ(Compare(left, right)->variable, "PHALANX_CHECKPOINT_EVERY");
}

}  // namespace
}  // namespace phalanx::control
