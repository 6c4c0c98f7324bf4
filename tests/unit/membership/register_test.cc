#include "membership/register.h"

#include <set>

#include "gtest/gtest.h"

namespace phalanx::membership {
namespace {

std::set<VoterId> Ids(std::initializer_list<uint64_t> values) {
  std::set<VoterId> ids;
  for (const uint64_t value : values) ids.insert(VoterId{value});
  return ids;
}

TEST(VoterSetsTest, AQuorumIsMoreThanHalf) {
  EXPECT_TRUE((VoterSets{Ids({1}), {}}).IsQuorum(Ids({1})));
  EXPECT_FALSE((VoterSets{Ids({1}), {}}).IsQuorum(Ids({2})));
  const VoterSets three{Ids({1, 2, 3}), {}};
  EXPECT_FALSE(three.IsQuorum(Ids({1})));
  EXPECT_TRUE(three.IsQuorum(Ids({1, 3})));
  EXPECT_FALSE(three.IsQuorum(Ids({1, 4, 5})));
  const VoterSets four{Ids({1, 2, 3, 4}), {}};
  EXPECT_FALSE(four.IsQuorum(Ids({1, 2})));
  EXPECT_TRUE(four.IsQuorum(Ids({1, 2, 4})));
  EXPECT_FALSE((VoterSets{}).IsQuorum({}));
}

TEST(VoterSetsTest, WhileReplacedAQuorumIsAMajorityOfBoth) {
  const VoterSets both{Ids({1, 2, 3}), Ids({3, 4, 5})};
  EXPECT_FALSE(both.IsQuorum(Ids({1, 2, 3})));
  EXPECT_FALSE(both.IsQuorum(Ids({3, 4, 5})));
  EXPECT_TRUE(both.IsQuorum(Ids({1, 3, 4})));
  EXPECT_EQ(both.All(), Ids({1, 2, 3, 4, 5}));
}

TEST(BallotTest, RoundsComeBeforeProposers) {
  EXPECT_LT(Ballot{}, (Ballot{1, {}}));
  EXPECT_LT((Ballot{1, {9}}), (Ballot{2, {3}}));
  EXPECT_LT((Ballot{2, {3}}), (Ballot{2, {4}}));
}

TEST(DescribeTest, SaysWhatHappens) {
  const auto record = std::make_shared<const Record>(
      Record{4, {{9}, 2}, {Ids({1, 2, 3}), Ids({2, 3, 4})}, "value"});
  EXPECT_EQ(Describe(*record), "version 4 by 9#2 {1 2 3}->{2 3 4}");
  EXPECT_EQ(Describe(ToVoter(Prepare{{1}, {7, {9}}})), "prepare 7.9 to 1");
  EXPECT_EQ(Describe(ToProposer(Promise{{1}, {7, {9}}, {6, {8}}, record})),
            "1 promises 7.9, accepted version 4 by 9#2 {1 2 3}->{2 3 4} under 6.8");
  EXPECT_EQ(Describe(ToProposer(Refused{{1}, {7, {9}}, {8, {3}}})),
            "1 refuses 7.9, has promised 8.3");
  EXPECT_EQ(Describe(ToProposer(NotAVoter{{1}, {7, {9}}})), "no voter 1 for 7.9");
}

}  // namespace
}  // namespace phalanx::membership
