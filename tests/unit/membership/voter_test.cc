#include "membership/voter.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace phalanx::membership {
namespace {

constexpr VoterId kVoter{1};
constexpr Ballot Of(uint64_t round, uint64_t proposer = 9) { return {round, {proposer}}; }

RecordPtr Version(uint64_t version) {
  return std::make_shared<const Record>(Record{version, {{9}, version}, {{kVoter}, {}}, "value"});
}

VoterState Empty() { return VoterState{kVoter, {}, {}, nullptr}; }

// Feeds a question and, as a shell with a fast disk, what it is to persist.
ToProposer Ask(Voter* voter, const ToVoter& message, VoterState* log = nullptr) {
  std::vector<VoterOutput> outputs = voter->Step(Asked{5, message});
  if (const auto* persist = std::get_if<Persist>(&outputs.at(0))) {
    if (log != nullptr) *log = persist->state;
    EXPECT_EQ(outputs.size(), 1U);  // no answer before
    outputs = voter->Step(Persisted{persist->number});
  }
  EXPECT_EQ(outputs.size(), 1U);
  const auto& answer = std::get<Answer>(outputs.at(0));
  EXPECT_EQ(answer.link, 5U);
  return answer.message;
}

TEST(VoterTest, PromisesHigherBallotsAndRefusesLowerOnes) {
  Voter voter(Empty());
  const auto promise = std::get<Promise>(Ask(&voter, Prepare{kVoter, Of(3)}));
  EXPECT_EQ(promise.ballot, Of(3));
  EXPECT_EQ(promise.accepted, Ballot{});
  EXPECT_EQ(promise.record, nullptr);
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Prepare{kVoter, Of(2)})).promised, Of(3));
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Accept{kVoter, Of(2), Version(1)})).promised, Of(3));
  EXPECT_EQ(voter.state().record, nullptr);
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Prepare{kVoter, Of(3, 8)})).promised, Of(3));
  EXPECT_EQ(std::get<Promise>(Ask(&voter, Prepare{kVoter, Of(3, 10)})).ballot, Of(3, 10));
}

TEST(VoterTest, TellsWhatItAccepted) {
  Voter voter(Empty());
  EXPECT_EQ(std::get<Accepted>(Ask(&voter, Accept{kVoter, Of(3), Version(1)})).ballot, Of(3));
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Prepare{kVoter, Of(2)})).promised, Of(3));
  const auto promise = std::get<Promise>(Ask(&voter, Prepare{kVoter, Of(4)}));
  EXPECT_EQ(promise.accepted, Of(3));
  EXPECT_EQ(*promise.record, *Version(1));
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Accept{kVoter, Of(3), Version(1)})).promised, Of(4));
}

TEST(VoterTest, SaysNothingBeforeItIsOnTheDisk) {
  Voter voter(Empty());
  const auto first = std::get<Persist>(voter.Step(Asked{1, Prepare{kVoter, Of(3)}}).at(0));
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(first.state.promised, Of(3));
  // Repeated and refused questions rest on the same state.
  EXPECT_TRUE(voter.Step(Asked{2, Prepare{kVoter, Of(3)}}).empty());
  EXPECT_TRUE(voter.Step(Asked{3, Prepare{kVoter, Of(2)}}).empty());
  const auto second =
      std::get<Persist>(voter.Step(Asked{4, Accept{kVoter, Of(3), Version(1)}}).at(0));
  EXPECT_EQ(second.number, 2U);
  EXPECT_EQ(second.state.accepted, Of(3));

  const std::vector<VoterOutput> answers = voter.Step(Persisted{1});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<Promise>(std::get<Answer>(answers[0]).message));
  EXPECT_EQ(std::get<Answer>(answers[1]).link, 2U);
  EXPECT_TRUE(std::holds_alternative<Refused>(std::get<Answer>(answers[2]).message));
  EXPECT_TRUE(voter.Step(Persisted{1}).empty());
  EXPECT_TRUE(
      std::holds_alternative<Accepted>(std::get<Answer>(voter.Step(Persisted{2}).at(0)).message));
}

TEST(VoterTest, OneThatWasPersistedCoversThoseBefore) {
  Voter voter(Empty());
  voter.Step(Asked{1, Prepare{kVoter, Of(3)}});
  voter.Step(Asked{2, Prepare{kVoter, Of(4)}});
  EXPECT_EQ(voter.Step(Persisted{2}).size(), 2U);
}

TEST(VoterTest, RemembersWhatItsLogHolds) {
  VoterState log;
  {
    Voter voter(Empty());
    Ask(&voter, Accept{kVoter, Of(3), Version(1)}, &log);
  }
  Voter voter(log);
  EXPECT_EQ(std::get<Refused>(Ask(&voter, Prepare{kVoter, Of(2)})).promised, Of(3));
  EXPECT_EQ(*std::get<Promise>(Ask(&voter, Prepare{kVoter, Of(4)})).record, *Version(1));
}

TEST(VoterTest, WithAnotherLogItIsNotTheVoterThatIsAsked) {
  Voter voter(VoterState{VoterId{2}, {}, {}, nullptr});
  EXPECT_EQ(std::get<NotAVoter>(Ask(&voter, Prepare{kVoter, Of(3)})).from, kVoter);
  EXPECT_EQ(std::get<NotAVoter>(Ask(&voter, Accept{kVoter, Of(3), Version(1)})).ballot, Of(3));
  EXPECT_EQ(voter.state().promised, Ballot{});
}

}  // namespace
}  // namespace phalanx::membership
