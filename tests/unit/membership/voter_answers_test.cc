#include "membership/voter_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace phalanx::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kNone = 0;  // no question

Clock::time_point At(int ms) { return Clock::time_point(milliseconds(ms)); }

VoterSets Sets(std::set<VoterId> current, std::set<VoterId> incoming = {}) {
  return {std::move(current), std::move(incoming)};
}

Lead LeadOf(uint64_t round, uint64_t life, VoterSets voters = Sets({{1}, {2}, {3}})) {
  return Lead{{round, {life}}, std::move(voters), {{life}, life, "there"}, {}};
}

TEST(VoterAnswersTest, AMajorityIsReachedWhenItsSlowestWasAsked) {
  VoterAnswers answers(seconds(3));
  const VoterSets voters = Sets({{1}, {2}, {3}});
  EXPECT_EQ(answers.Ask(At(0)), 1U);
  EXPECT_EQ(answers.Ask(At(200)), 2U);
  EXPECT_EQ(answers.Ask(At(400)), 3U);
  EXPECT_EQ(answers.ReachedAt(voters), std::nullopt);
  answers.Hear({{1}, 3, {}});
  EXPECT_EQ(answers.ReachedAt(voters), std::nullopt);
  answers.Hear({{2}, 1, {}});
  EXPECT_EQ(answers.ReachedAt(voters), At(0));
  answers.Hear({{3}, 2, {}});
  EXPECT_EQ(answers.ReachedAt(voters), At(200));
  answers.Hear({{3}, 1, {}});  // overtaken
  EXPECT_EQ(answers.ReachedAt(voters), At(200));
}

TEST(VoterAnswersTest, BothSetsCountWhileVotersAreReplaced) {
  VoterAnswers answers(seconds(3));
  const VoterSets voters = Sets({{1}, {2}, {3}}, {{4}});
  answers.Ask(At(0));
  answers.Hear({{1}, 1, {}});
  answers.Hear({{2}, 1, {}});
  EXPECT_EQ(answers.ReachedAt(voters), std::nullopt);
  answers.Hear({{4}, 1, {}});
  EXPECT_EQ(answers.ReachedAt(voters), At(0));
}

TEST(VoterAnswersTest, WhatIsTooOldIsNoNewsButAFact) {
  VoterAnswers answers(seconds(3));
  const VoterSets voters = Sets({{1}});
  answers.Ask(At(0));
  answers.Ask(At(3001));
  answers.Hear({{1}, 1, LeadOf(4, 7, voters)});
  EXPECT_EQ(answers.ReachedAt(voters), std::nullopt);
  EXPECT_EQ(answers.Committed()->coordinator.life.value, 7U);
  answers.Hear({{1}, 99, {}});  // never asked
  EXPECT_EQ(answers.ReachedAt(voters), std::nullopt);
}

TEST(VoterAnswersTest, CommittedIsWhatAMajorityAcceptedUnderOneBallot) {
  VoterAnswers answers(seconds(3));
  EXPECT_EQ(answers.Committed(), nullptr);
  answers.Hear({{1}, kNone, {}});  // have accepted nothing
  answers.Hear({{2}, kNone, {}});
  EXPECT_EQ(answers.Committed(), nullptr);
  answers.Hear({{1}, kNone, LeadOf(5, 7)});
  answers.Hear({{2}, kNone, LeadOf(8, 7)});  // the same coordinator, another ballot
  EXPECT_EQ(answers.Committed(), nullptr);
  answers.Hear({{1}, kNone, LeadOf(8, 7)});
  EXPECT_EQ(answers.Committed()->ballot.round, 8U);
  answers.Hear({{3}, kNone, LeadOf(9, 4)});  // of one voter alone
  EXPECT_EQ(answers.Committed()->ballot.round, 8U);
  answers.Hear({{1}, kNone, LeadOf(5, 7)});  // overtaken
  EXPECT_EQ(answers.Committed()->ballot.round, 8U);
}

TEST(VoterAnswersTest, CommittedTakesAQuorumOfTheRecordsOwnVoters) {
  VoterAnswers answers(seconds(3));
  const VoterSets both = Sets({{1}, {2}, {3}}, {{3}, {4}, {5}});
  answers.Hear({{1}, kNone, LeadOf(5, 7, both)});
  EXPECT_THAT(answers.VotersTold(),
              testing::ElementsAre(VoterId{1}, VoterId{2}, VoterId{3}, VoterId{4}, VoterId{5}));
  answers.Hear({{3}, kNone, LeadOf(5, 7, both)});
  EXPECT_EQ(answers.Committed(), nullptr);  // 3 alone of those that come
  answers.Hear({{4}, kNone, LeadOf(5, 7, both)});
  EXPECT_EQ(*answers.Committed(), LeadOf(5, 7, both));
}

TEST(VoterAnswersTest, CommittedIsHiddenWhereAVoterThatHasItIsMissing) {
  VoterAnswers answers(seconds(3));
  answers.Ask(At(0));
  answers.Hear({{1}, 1, LeadOf(8, 7)});
  EXPECT_FALSE(answers.IsHiddenSince(At(0)));  // too few to say
  answers.Hear({{2}, 1, LeadOf(5, 7)});
  EXPECT_TRUE(answers.IsHiddenSince(At(0)));
  answers.Hear({{3}, 1, LeadOf(8, 7)});
  EXPECT_FALSE(answers.IsHiddenSince(At(0)));
  answers.Ask(At(200));
  answers.Hear({{1}, 2, LeadOf(8, 7)});
  answers.Hear({{2}, 2, LeadOf(5, 7)});
  EXPECT_TRUE(answers.IsHiddenSince(At(200)));
  EXPECT_EQ(answers.Committed()->ballot.round, 8U);  // as 3 has said, and so it stays
  answers.Hear({{2}, 2, LeadOf(8, 7)});
  EXPECT_FALSE(answers.IsHiddenSince(At(200)));
}

}  // namespace
}  // namespace phalanx::membership
