#include "ordering_wire/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sample_messages.h"

namespace phalanx::ordering {
namespace {

constexpr CommunicatorId kPart{1};

Speaker Rank(int rank) { return {0, rank}; }
Speaker Node(int place) { return {place, {}}; }

// Ranks 0 and 1 on node 2, rank 2 on node 5, ranks 3 and 4 on node 7; others have none.
class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() : registry_({2, 2, 5, 7, 7}) {}

  absl::StatusOr<bool> Add(const Speaker& speaker, std::vector<int> members) {
    return registry_.Add(speaker, {kPart, std::move(members)});
  }
  std::string Error(const Speaker& speaker, ReportBody body) const {
    return std::string(registry_.Check(speaker, {{}, std::move(body)}).message());
  }
  static Present PresentOf(const Lane& lane, int rank) { return {{lane, 0}, {}, false, rank}; }

  Registry registry_;
};

TEST_F(RegistryTest, NodesHavePlaces) {
  EXPECT_EQ(registry_.nodes(), (std::vector<int>{2, 5, 7}));
  EXPECT_EQ(registry_.PlaceOf(5), 1);
  EXPECT_EQ(registry_.PlaceOf(3), std::nullopt);
  EXPECT_EQ(registry_.PlaceOf(8), std::nullopt);
  EXPECT_EQ(registry_.roster().nodes(), 3);
  EXPECT_EQ(registry_.roster().NodeOf(4), 2);
  EXPECT_EQ(registry_.roster().MembersOf(Lane::Of(kWorldCommunicator)), (Ranks{0, 1, 2, 3, 4}));
}

TEST_F(RegistryTest, ACommunicatorIsNewOnce) {
  EXPECT_EQ(*Add(Rank(3), {3, 0}), true);
  EXPECT_EQ(*Add(Rank(0), {3, 0}), false);
  EXPECT_EQ(*Add(Node(2), {3, 0}), false);
  EXPECT_EQ(registry_.roster().MembersOf(Lane::Of(kPart)), (Ranks{0, 3}));
  EXPECT_EQ(Add(Rank(3), {3, 1}).status(),
            absl::InvalidArgumentError("communicator 1 is known with other members"));
  EXPECT_EQ(Add(Rank(0), {0, 3}).status(),
            absl::InvalidArgumentError("communicator 1 is known with other members"));
}

TEST_F(RegistryTest, MembersAreRanksOfTheJobAndSpeakersAmongThem) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "communicator 1 has no members, one twice, or one outside of the job");
  EXPECT_EQ(Add(Rank(0), {}).status(), wrong);
  EXPECT_EQ(Add(Rank(0), {0, 0}).status(), wrong);
  EXPECT_EQ(Add(Rank(0), {0, 5}).status(), wrong);
  EXPECT_EQ(Add(Rank(2), {0, 1}).status(),
            absl::InvalidArgumentError("rank 2 has no part in communicator 1"));
  EXPECT_EQ(Add(Node(1), {0, 3}).status(),
            absl::InvalidArgumentError("the node has no part in communicator 1"));
}

TEST_F(RegistryTest, ReportsNameKnownCommunicatorsOfTheSpeaker) {
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::Of(kWorldCommunicator), 0)), "");
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::Of(kPart), 0)), "communicator 1 was never announced");
  ASSERT_TRUE(Add(Rank(0), {0, 3}).ok());
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::Of(kPart), 0)), "");
  EXPECT_EQ(Error(Rank(3), PresentOf(Lane::OfKey(kPart, "key"), 3)), "");
  EXPECT_EQ(Error(Rank(1), PresentOf(Lane::Of(kPart), 1)), "rank 1 has no part in communicator 1");
  EXPECT_EQ(Error(Node(2), PresentOf(Lane::Of(kPart), 4)), "");
  EXPECT_EQ(Error(Node(1), PresentOf(Lane::Of(kPart), 2)),
            "the node has no part in communicator 1");
  EXPECT_EQ(Error(Rank(1), Done{{Lane::Of(kPart), 0}}), "rank 1 has no part in communicator 1");
  EXPECT_EQ(Error(Rank(1), Diverged{{Lane::Of(kPart), 0}}), "rank 1 has no part in communicator 1");
  const std::vector<Passed::OfLane> passed = {{Lane::Of(kPart), 1, {}, {}}};
  EXPECT_EQ(Error(Rank(3), Passed{passed, 3}), "");
  EXPECT_EQ(Error(Rank(1), Passed{passed, 1}), "rank 1 has no part in communicator 1");
  EXPECT_EQ(Error(Rank(3), Passed{passed, 0}), "rank 3 does not speak for rank 0");
  EXPECT_EQ(Error(Rank(1), Held{{{{}, {}, {Lane::Of(kPart), 0}}}}),
            "rank 1 has no part in communicator 1");
  EXPECT_EQ(Error(Rank(1), Clear{}), "");
}

TEST_F(RegistryTest, PairsAreOfTwoMembers) {
  ASSERT_TRUE(Add(Rank(0), {0, 3}).ok());
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::OfPair(kPart, 0, 3), 0)), "");
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::OfPair(kPart, 3, 0), 0)), "");
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::OfPair(kPart, 0, 0), 0)),
            "rank 0 has no part in communicator 1, messages from rank 0 to rank 0");
  EXPECT_EQ(Error(Rank(0), PresentOf(Lane::OfPair(kPart, 0, 1), 0)),
            "rank 0 has no part in communicator 1, messages from rank 0 to rank 1");
  EXPECT_EQ(Error(Rank(1), PresentOf(Lane::OfPair(kPart, 0, 3), 1)),
            "rank 1 has no part in communicator 1, messages from rank 0 to rank 3");
  EXPECT_EQ(Error(Node(2), PresentOf(Lane::OfPair(kPart, 0, 3), 3)), "");
  EXPECT_EQ(Error(Node(1), PresentOf(Lane::OfPair(kPart, 0, 3), 2)),
            "the node has no part in communicator 1, messages from rank 0 to rank 3");
}

TEST_F(RegistryTest, NobodySpeaksForOthers) {
  const Lane world = Lane::Of(kWorldCommunicator);
  EXPECT_EQ(Error(Rank(0), PresentOf(world, 1)), "rank 0 does not speak for rank 1");
  EXPECT_EQ(Error(Node(0), PresentOf(world, 2)), "the node does not speak for rank 2");
  EXPECT_EQ(Error(Node(0), PresentOf(world, 5)), "the node does not speak for rank 5");
  EXPECT_EQ(Error(Rank(0), Stalled{1}), "rank 0 does not speak for rank 1");
  EXPECT_EQ(Error(Node(2), Stalled{4}), "");
  EXPECT_EQ(Error(Rank(0), LocalTickets{}), "ranks don't send this report");
  EXPECT_EQ(Error(Rank(0), Disagreement{}), "ranks don't send this report");
  EXPECT_EQ(Error(Node(0), Disagreement{{world, 0}, {0, {}}, {1, {}}}), "");
  EXPECT_EQ(Error(Node(0), Disagreement{{world, 0}, {0, {}}, {2, {}}}),
            "the node does not speak for rank 2");
  EXPECT_EQ(Error(Node(0), LocalTickets{{{Lane::Of(kPart), {}}}, {0}}),
            "communicator 1 was never announced");
}

TEST_F(RegistryTest, ASnapshotIsOfItsRanksOwnOperations) {
  ASSERT_TRUE(Add(Rank(0), {0, 3}).ok());
  RankSnapshot snapshot;
  snapshot.rank = 1;
  EXPECT_EQ(Error(Rank(1), SnapshotPart{0, snapshot}), "");
  EXPECT_EQ(Error(Node(0), SnapshotPart{0, snapshot}), "");
  EXPECT_EQ(Error(Node(1), SnapshotPart{0, snapshot}), "the node does not speak for rank 1");
  const std::string wrong = "rank 1 has no part in communicator 1";
  RankSnapshot other = snapshot;
  other.ops.push_back({{Lane::Of(kPart), 0}});
  EXPECT_EQ(Error(Rank(1), SnapshotPart{0, other}), wrong);
  EXPECT_EQ(Error(Node(0), SnapshotPart{0, other}), wrong);
  other = snapshot;
  other.threads.push_back({ThreadView::State::kWaiting, {{Lane::Of(kPart), 0}}});
  EXPECT_EQ(Error(Rank(1), SnapshotPart{0, other}), wrong);
  other = snapshot;
  other.issued.push_back({Lane::Of(kPart), 1});
  EXPECT_EQ(Error(Rank(1), SnapshotPart{0, other}), wrong);
}

TEST_F(RegistryTest, OrdersNameCommunicatorsOfTheNode) {
  ASSERT_TRUE(Add(Rank(0), {0, 3}).ok());
  const Ticket ticket{{0, 1, 0}, {}, {Lane::Of(kPart), 0}};
  const auto schedule =
      std::make_shared<const Schedule>(Schedule{{{Lane::Of(kPart), {}}}, {{Lane::Of(kPart), 0}}});
  for (const OrderBody& body :
       {OrderBody(ticket), OrderBody(Resume{{ticket}}), OrderBody(Certify{schedule})}) {
    EXPECT_EQ(registry_.Check(0, Order{{}, body}), absl::OkStatus());
    EXPECT_EQ(registry_.Check(1, Order{{}, body}),
              absl::InvalidArgumentError("the node has no part in communicator 1"));
  }
  for (const OrderBody& body : {OrderBody(Fence{}), OrderBody(Question{}), OrderBody(AskSnapshot{}),
                                OrderBody(Verdict{std::make_shared<const Explanation>()})}) {
    EXPECT_EQ(registry_.Check(1, Order{{}, body}), absl::OkStatus());
  }
}

TEST_F(RegistryTest, NobodyIsBelievedAboutOthersVerdicts) {
  ASSERT_TRUE(Add(Rank(0), {0, 2}).ok());
  auto explanation = std::make_shared<Explanation>();
  explanation->aborted = {{Lane::Of(kPart), 3}};
  const Report report{{}, Refused{explanation}};
  EXPECT_EQ(registry_.Check(Rank(1), report), absl::OkStatus());  // it heard of it as all did
  EXPECT_FALSE(registry_.IsConcerned(Rank(1), report));
  EXPECT_TRUE(registry_.IsConcerned(Rank(0), report));
  EXPECT_TRUE(registry_.IsConcerned(Node(1), report));
  EXPECT_FALSE(registry_.IsConcerned(Node(2), report));
  explanation->aborted = {{Lane::Of(CommunicatorId{9}), 0}};
  EXPECT_FALSE(registry_.IsConcerned(Rank(0), report));
  EXPECT_TRUE(registry_.IsConcerned(Rank(1), {{}, Clear{}}));
}

}  // namespace
}  // namespace phalanx::ordering
