#include "control_coordinator/job_steps.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint_wire/codec.h"

namespace phalanx::control {
namespace {

using checkpoint::StepBallot;
using checkpoint::Term;

constexpr Clock::time_point kNow{};

template <typename Kind>
std::vector<std::pair<int, Kind>> Sent(const JobSteps::Outputs& outputs) {
  std::vector<std::pair<int, Kind>> found;
  for (const JobSteps::ToRank& message : outputs.messages) {
    const auto decoded = checkpoint::Decode(message.payload);
    EXPECT_TRUE(decoded.ok());
    if (const auto* kind = std::get_if<Kind>(&*decoded)) found.emplace_back(message.rank, *kind);
  }
  return found;
}

template <typename Kind>
std::vector<int> Receivers(const JobSteps::Outputs& outputs) {
  std::vector<int> ranks;
  for (const auto& [rank, message] : Sent<Kind>(outputs)) ranks.push_back(rank);
  return ranks;
}

class JobStepsTest : public ::testing::Test {
 protected:
  JobSteps::Outputs Say(int rank, const checkpoint::Message& message,
                        Clock::duration at = std::chrono::seconds(0)) {
    JobSteps::Outputs outputs;
    EXPECT_TRUE(steps_.FromRank(rank, checkpoint::Encode(message), kNow + at, &outputs).ok());
    return outputs;
  }
  JobSteps::Outputs Report(int rank, bool whole, int64_t committed,
                           std::optional<StepBallot> ballot = {}) {
    return Say(rank, checkpoint::StepReport{term_, rank, whole, committed, ballot});
  }
  JobSteps::Outputs Stand(int rank, int64_t committed, uint64_t bytes = 0,
                          Clock::duration at = std::chrono::seconds(0)) {
    return Say(rank, checkpoint::StepStands{term_, rank, committed, bytes}, at);
  }
  // Of three ranks these are asked for the view to come.
  JobSteps::Outputs Ask(uint64_t next, const std::set<int>& survivors) {
    JobSteps::Outputs outputs = steps_.Ask(Epoch{next}, 3, survivors, kNow);
    const auto asked = Sent<checkpoint::AskStanding>(outputs);
    if (!asked.empty()) term_ = asked[0].second.term;
    return outputs;
  }

  JobSteps steps_{5};
  Term term_;
};

TEST_F(JobStepsTest, TheFirstViewRestoresAndThenVotes) {
  JobSteps::Outputs outputs = steps_.BeginView(Epoch{1}, 3, kNow);
  EXPECT_EQ(Receivers<checkpoint::RollBackSteps>(outputs), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(steps_.rolls_back());
  outputs = steps_.Restored(-1, kNow);
  EXPECT_FALSE(steps_.rolls_back());
  term_ = Sent<checkpoint::AskStanding>(outputs).at(0).second.term;
  for (int rank = 0; rank < 3; ++rank) outputs = Report(rank, true, -1);
  EXPECT_EQ(Receivers<checkpoint::Resolve>(outputs), (std::vector<int>{0, 1, 2}));
  for (int rank = 0; rank < 3; ++rank) outputs = Stand(rank, -1);
  EXPECT_EQ(Receivers<checkpoint::ResumeSteps>(outputs), (std::vector<int>{0, 1, 2}));
  ASSERT_TRUE(outputs.resumed.has_value());
  EXPECT_EQ(outputs.resumed->step, 0);
  EXPECT_FALSE(outputs.resumed->live);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_FALSE(outputs.committed);
    outputs = Say(rank, checkpoint::Vote{term_, rank, 0});
  }
  EXPECT_TRUE(outputs.committed);
  EXPECT_EQ(Receivers<checkpoint::ApplyStep>(outputs), (std::vector<int>{0, 1, 2}));
}

TEST_F(JobStepsTest, SurvivorsAreResolvedBeforeTheViewAndJoinersCopyInIt) {
  JobSteps::Outputs outputs = Ask(2, {0, 2});
  EXPECT_EQ(Receivers<checkpoint::AskStanding>(outputs), (std::vector<int>{0, 2}));
  Report(0, true, 7, StepBallot{8, 1});
  outputs = Report(2, true, 7, StepBallot{8, 1});
  ASSERT_EQ(Receivers<checkpoint::Resolve>(outputs), (std::vector<int>{0, 2}));
  EXPECT_EQ(Sent<checkpoint::Resolve>(outputs)[0].second.target, 8);
  outputs = Stand(2, 8);
  EXPECT_TRUE(outputs.messages.empty());  // rank 1 isn't there yet
  Stand(0, 8);
  outputs = steps_.BeginView(Epoch{2}, 3, kNow);
  EXPECT_FALSE(steps_.rolls_back());
  EXPECT_TRUE(outputs.copies);
  EXPECT_FALSE(outputs.committed);
  EXPECT_EQ(Receivers<checkpoint::AskStanding>(outputs), (std::vector<int>{1}));
  const auto copies = Sent<checkpoint::CopyRegions>(outputs);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].first, 1);
  EXPECT_EQ(copies[0].second.from, 2);
  const auto serves = Sent<checkpoint::ServeRegions>(outputs);
  ASSERT_EQ(serves.size(), 1u);
  EXPECT_EQ(serves[0].first, 2);
  EXPECT_EQ(serves[0].second.to, 1);
  outputs = Stand(1, 8, 1000, std::chrono::milliseconds(3));
  ASSERT_TRUE(outputs.resumed.has_value());
  EXPECT_EQ(outputs.resumed->step, 9);
  EXPECT_TRUE(outputs.resumed->live);
  EXPECT_EQ(outputs.resumed->recomputed, 0);
  ASSERT_EQ(outputs.resumed->copied.size(), 1u);
  EXPECT_EQ(outputs.resumed->copied[0].bytes, 1000u);
  EXPECT_EQ(outputs.resumed->copied[0].from, 2);
  EXPECT_EQ(outputs.resumed->copied[0].duration, std::chrono::milliseconds(3));
}

TEST_F(JobStepsTest, AStepThatNotAllHadCompletedIsComputedAgain) {
  Ask(2, {0, 2});
  Report(0, true, 7, StepBallot{8, 1});
  Report(2, true, 7);
  Stand(0, 7);
  Stand(2, 7);
  steps_.BeginView(Epoch{2}, 3, kNow);
  const JobSteps::Outputs outputs = Stand(1, 7, 10);
  ASSERT_TRUE(outputs.resumed.has_value());
  EXPECT_EQ(outputs.resumed->step, 8);
  EXPECT_EQ(outputs.resumed->recomputed, 1);
}

TEST_F(JobStepsTest, AnotherLossBeforeTheViewBeginsItAnewAndNothingEarlierCounts) {
  Ask(2, {0, 2});
  const Term first = term_;
  Report(0, true, 7, StepBallot{8, 1});
  Report(2, true, 7, StepBallot{8, 1});
  Stand(0, 8);
  Ask(2, {2});
  EXPECT_GT(term_, first);
  EXPECT_TRUE(Say(0, checkpoint::StepStands{first, 0, 8}).messages.empty());
  JobSteps::Outputs outputs = Report(2, true, 7, StepBallot{8, 1});
  ASSERT_EQ(Receivers<checkpoint::Resolve>(outputs), (std::vector<int>{2}));
  EXPECT_EQ(Sent<checkpoint::Resolve>(outputs)[0].second.target, 8);  // rank 0 had applied it
  Stand(2, 8);
  outputs = steps_.BeginView(Epoch{2}, 3, kNow);
  EXPECT_EQ(Receivers<checkpoint::CopyRegions>(outputs), (std::vector<int>{0, 1}));
}

TEST_F(JobStepsTest, AJoinerThatOutlivesALossIsToldToCopyOnce) {
  Ask(3, {1, 2});
  Report(1, false, -1);
  Report(2, true, 7);
  JobSteps::Outputs outputs = Stand(2, 7);
  EXPECT_TRUE(outputs.messages.empty());  // though rank 1 can be reached
  EXPECT_FALSE(outputs.copies);
  outputs = steps_.BeginView(Epoch{3}, 3, kNow);
  EXPECT_EQ(Receivers<checkpoint::CopyRegions>(outputs), (std::vector<int>{0, 1}));
  EXPECT_EQ(Receivers<checkpoint::ServeRegions>(outputs), (std::vector<int>{2, 2}));
}

TEST_F(JobStepsTest, WithoutAJoinerAllGoOnWhenTheViewBegins) {
  JobSteps::Outputs outputs = Ask(4, {0, 1, 2});
  for (int rank = 0; rank < 3; ++rank) Report(rank, true, 3);
  for (int rank = 0; rank < 3; ++rank) {
    outputs = Stand(rank, 3);
    EXPECT_TRUE(Sent<checkpoint::ResumeSteps>(outputs).empty());
    EXPECT_FALSE(outputs.resumed.has_value());
  }
  outputs = steps_.BeginView(Epoch{4}, 3, kNow);
  EXPECT_EQ(Receivers<checkpoint::ResumeSteps>(outputs), (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(outputs.committed);
  ASSERT_TRUE(outputs.resumed.has_value());
  EXPECT_EQ(outputs.resumed->step, 4);
  EXPECT_TRUE(outputs.resumed->live);
}

TEST_F(JobStepsTest, WithoutAnybodyWholeAllRollBack) {
  Ask(2, {0, 2});
  Report(0, false, -1);
  JobSteps::Outputs outputs = Report(2, false, -1);
  EXPECT_TRUE(outputs.rolls_back);
  EXPECT_EQ(Receivers<checkpoint::RollBackSteps>(outputs), (std::vector<int>{0, 2}));
  outputs = steps_.BeginView(Epoch{2}, 3, kNow);
  EXPECT_FALSE(outputs.rolls_back);  // said once
  EXPECT_TRUE(steps_.rolls_back());
  EXPECT_EQ(Receivers<checkpoint::RollBackSteps>(outputs), (std::vector<int>{1}));
}

TEST_F(JobStepsTest, WhenNobodyIsLeftThereIsNobodyToAsk) {
  const JobSteps::Outputs outputs = Ask(2, {});
  EXPECT_TRUE(outputs.rolls_back);
  EXPECT_TRUE(outputs.messages.empty());
}

TEST_F(JobStepsTest, ALaterCoordinatorsTermIsHigher) {
  Ask(2, {0});
  JobSteps later(6);
  const JobSteps::Outputs outputs = later.Ask(Epoch{2}, 3, {0}, kNow);
  EXPECT_GT(Sent<checkpoint::AskStanding>(outputs).at(0).second.term, term_);
}

TEST_F(JobStepsTest, WhatOnlyTheCoordinatorSaysIsRefused) {
  Ask(2, {0});
  JobSteps::Outputs outputs;
  const std::string order = checkpoint::Encode(checkpoint::ApplyStep{term_, 3});
  EXPECT_FALSE(steps_.FromRank(0, order, kNow, &outputs).ok());
  EXPECT_FALSE(steps_.FromRank(0, "nonsense", kNow, &outputs).ok());
}

}  // namespace
}  // namespace phalanx::control
