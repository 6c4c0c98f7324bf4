#include <optional>
#include <vector>

#include "checkpoint/step_member.h"
#include "checkpoint/step_vote.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::checkpoint {
namespace {

StepReport At(int64_t committed, std::optional<StepBallot> ballot = {}) {
  return {{2, 2}, 0, true, committed, ballot};
}
StepReport Joiner() { return {{2, 2}, 0, false, -1, {}}; }

TEST(DecideTargetTest, TheLargestCommittedStep) {
  EXPECT_EQ(DecideTarget({At(4), At(4), Joiner()}), 4);
  EXPECT_EQ(DecideTarget({At(4), At(3, StepBallot{4, 1})}), 4);
}

TEST(DecideTargetTest, AVoteOfAllSurvivorsCommits) {
  EXPECT_EQ(DecideTarget({At(4, StepBallot{5, 1}), At(4, StepBallot{5, 1}), Joiner()}), 5);
  EXPECT_EQ(DecideTarget({At(4, StepBallot{5, 1}), At(4)}), 4);
  EXPECT_EQ(DecideTarget({At(4, StepBallot{5, 1}), At(4, StepBallot{5, 2})}), 4);
}

TEST(DecideTargetTest, WithoutAnybodyWholeOrAgainstTheRulesThereIsNone) {
  EXPECT_EQ(DecideTarget({Joiner()}), std::nullopt);
  EXPECT_EQ(DecideTarget({At(4), At(2)}), std::nullopt);
  EXPECT_EQ(DecideTarget({At(4), At(3)}), std::nullopt);  // it never voted for 4
}

template <typename T>
std::vector<T> ToRanks(const std::vector<StepVoteOutput>& outputs) {
  std::vector<T> found;
  for (const StepVoteOutput& output : outputs) {
    const auto* tell = std::get_if<TellRank>(&output);
    if (tell == nullptr) continue;
    if (const T* it = std::get_if<T>(&tell->what)) found.push_back(*it);
  }
  return found;
}

TEST(StepVoteTest, JoinersCopyOnlyFromOneThatHasAppliedTheTarget) {
  const Term term{2, 2};
  StepVote vote(term, {0, 1});
  vote.Step(StepVoteBegins{});
  vote.Step(StepReport{term, 1, false, -1, {}});
  auto outputs = vote.Step(StepReport{term, 0, true, 4, StepBallot{5, 1}});
  EXPECT_EQ(ToRanks<Resolve>(outputs)[0].target, 5);
  EXPECT_TRUE(ToRanks<CopyRegions>(outputs).empty());
  outputs = vote.Step(StepVoteAgain{});
  EXPECT_TRUE(ToRanks<CopyRegions>(outputs).empty());
  outputs = vote.Step(StepStands{term, 0, 5});
  ASSERT_EQ(ToRanks<CopyRegions>(outputs).size(), 1U);
  EXPECT_EQ(ToRanks<CopyRegions>(outputs)[0].from, 0);
  EXPECT_TRUE(ToRanks<ResumeSteps>(outputs).empty());
  outputs = vote.Step(StepStands{term, 1, 5});
  EXPECT_EQ(ToRanks<ResumeSteps>(outputs).size(), 2U);
  vote.Step(Vote{term, 0, 6});
  vote.Step(Vote{term, 0, 6});
  outputs = vote.Step(Vote{term, 1, 6});
  EXPECT_EQ(ToRanks<ApplyStep>(outputs)[0].step, 6);
}

TEST(StepMemberTest, AppliesNothingOfAnEarlierTermOnceItHasReported) {
  StepMember member(0, true);
  member.Step(AskStanding{{1, 1}});
  member.Step(Resolve{{1, 1}, -1});
  member.Step(ResumeSteps{{1, 1}});
  ASSERT_TRUE(member.running());
  const auto voted = member.Step(StepComplete{0});
  EXPECT_EQ(std::get<Vote>(voted.at(0)).step, 0);
  const auto reported = member.Step(AskStanding{{2, 2}});
  EXPECT_EQ(std::get<StepReport>(reported.at(0)).ballot, (StepBallot{0, 1}));
  EXPECT_TRUE(member.Step(ApplyStep{{1, 1}, 0}).empty());
  const auto resolved = member.Step(Resolve{{2, 2}, -1});
  EXPECT_EQ(std::get<Recompute>(resolved.at(0)).step, 0);
  EXPECT_EQ(std::get<StepStands>(resolved.at(1)).committed, -1);
}

TEST(StepMemberTest, KeepsItsVoteWhenOnlyTheCoordinatorChanges) {
  StepMember member(0, true);
  member.Step(AskStanding{{1, 1}});
  member.Step(Resolve{{1, 1}, -1});
  member.Step(ResumeSteps{{1, 1}});
  member.Step(StepComplete{0});
  member.Step(AskStanding{{1, 2}});
  EXPECT_EQ(member.Step(Resolve{{1, 2}, -1}).size(), 1U);
  EXPECT_EQ(std::get<Vote>(member.Step(ResumeSteps{{1, 2}}).at(0)).step, 0);
  EXPECT_EQ(std::get<ApplyNow>(member.Step(ApplyStep{{1, 2}, 0}).at(0)).step, 0);
  EXPECT_EQ(member.committed(), 0);
}

TEST(StepMemberTest, AJoinerIsWholeOnlyOnceItHasCopied) {
  StepMember member(1, false);
  member.Step(AskStanding{{2, 2}});
  EXPECT_TRUE(member.Step(Resolve{{2, 2}, 4}).empty());
  EXPECT_EQ(std::get<StartCopy>(member.Step(CopyRegions{{2, 2}, 4, 0}).at(0)).from, 0);
  member.Step(AskStanding{{3, 3}});
  EXPECT_TRUE(member.Step(RegionsCopied{{2, 2}, 4}).empty());  // of a view that has ended
  EXPECT_FALSE(member.whole());
}

}  // namespace
}  // namespace phalanx::checkpoint
