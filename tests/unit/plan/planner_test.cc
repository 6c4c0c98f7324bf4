#include "plan/planner.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phalanx::plan {
namespace {

using testing::HasSubstr;

Collective Make(CollectiveKind kind, uint64_t count, int size) {
  Collective collective;
  collective.kind = kind;
  collective.type = DataType::kFloat32;
  collective.count = count;
  for (int i = 0; i < size; ++i) {
    const uint64_t place = count * static_cast<uint64_t>(i);
    collective.send_counts.push_back(count);
    collective.receive_counts.push_back(count);
    collective.send_displacements.push_back(place);
    collective.receive_displacements.push_back(place);
  }
  return collective;
}

Group MakeGroup(int rank, int size, bool shares_memory) {
  Group group;
  group.rank = rank;
  group.size = size;
  group.shares_memory = shares_memory;
  return group;
}

bool IsMessage(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
}

Plan MustPlan(const Collective& collective, const Group& group) {
  absl::StatusOr<Plan> plan = MakePlan(collective, group);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan();
}

constexpr int kKinds = static_cast<int>(CollectiveKind::kBarrier) + 1;
constexpr uint64_t kCounts[] = {0, 1, 100, 5000, 70'000, 3'000'001};

// Kind, and whether the group shares memory.
class EveryPlan : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  CollectiveKind kind() const { return static_cast<CollectiveKind>(std::get<0>(GetParam())); }
  // The plans of all ranks, for many sizes and counts.
  template <typename Check>
  void ForEach(const Check& check) const {
    if (IsMessage(kind())) return;
    for (const int size : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
      for (const uint64_t count : kCounts) {
        std::vector<Plan> plans;
        for (int rank = 0; rank < size; ++rank) {
          plans.push_back(
              MustPlan(Make(kind(), count, size), MakeGroup(rank, size, std::get<1>(GetParam()))));
        }
        SCOPED_TRACE(std::to_string(size) + " ranks, count " + std::to_string(count) + ", " +
                     plans[0].algorithm);
        check(plans);
      }
    }
  }
};

TEST_P(EveryPlan, IsEqualInFormOnAllRanks) {
  ForEach([](const std::vector<Plan>& plans) {
    for (const Plan& plan : plans) {
      EXPECT_STREQ(plan.algorithm, plans[0].algorithm);
      EXPECT_EQ(plan.rounds, plans[0].rounds);
      EXPECT_EQ(plan.window, plans[0].window);
      EXPECT_EQ(plan.chunk, plans[0].chunk);
      EXPECT_EQ(plan.messages, plans[0].messages);
      EXPECT_EQ(plan.uses_group(), plans[0].uses_group());
    }
  });
}

TEST_P(EveryPlan, NamesOnlyWhatIsThere) {
  ForEach([](const std::vector<Plan>& plans) {
    for (const Plan& plan : plans) {
      EXPECT_GE(plan.rounds, 1u);
      EXPECT_GE(plan.window, 1u);
      EXPECT_LE(plan.window, plan.rounds);
      for (size_t i = 0; i < plan.body.size(); ++i) {
        const Step& step = plan.body[i];
        EXPECT_LT(step.peer, plan.size);
        EXPECT_NE(step.peer, plan.rank);
        if (IsLinkStep(step.kind)) {
          EXPECT_LT(step.message, plan.messages);
        }
        EXPECT_LT(step.signal, 8);
        for (const uint16_t earlier : step.after) EXPECT_LT(earlier, i);
      }
    }
  });
}

// Every message that is sent is received, with the same length, and no two of a pair are alike.
TEST_P(EveryPlan, SendsWhatIsReceived) {
  ForEach([](const std::vector<Plan>& plans) {
    using Message = std::tuple<int, int, int>;  // from, to, message
    for (const uint32_t round : {0u, plans[0].rounds - 1}) {
      std::map<Message, uint64_t> sent;
      std::map<Message, uint64_t> received;
      for (const Plan& plan : plans) {
        for (const Step& step : plan.body) {
          if (step.kind == StepKind::kSend) {
            const uint64_t count = plan.RangeOf(step.source, round).count;
            EXPECT_TRUE(sent.emplace(Message(plan.rank, step.peer, step.message), count).second);
          } else if (step.kind == StepKind::kReceive) {
            const uint64_t count = plan.RangeOf(step.destination, round).count;
            EXPECT_TRUE(
                received.emplace(Message(step.peer, plan.rank, step.message), count).second);
          }
        }
      }
      EXPECT_EQ(sent, received);
    }
  });
}

// A block's rounds cover it once, from start to end.
TEST_P(EveryPlan, CoversItsBlocks) {
  ForEach([](const std::vector<Plan>& plans) {
    const Plan& plan = plans.back();
    for (const Region region : {Region::kInput, Region::kOutput}) {
      const std::vector<Block>& blocks = plan.blocks[static_cast<int>(region)];
      for (size_t i = 0; i < blocks.size(); ++i) {
        uint64_t end = blocks[i].offset;
        for (uint32_t round = 0; round < plan.rounds; ++round) {
          const Block range = plan.RangeOf({region, static_cast<uint16_t>(i), 1}, round);
          if (range.count == 0) continue;
          EXPECT_EQ(range.offset, end);
          end += range.count;
        }
        EXPECT_EQ(end, blocks[i].offset + blocks[i].count);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryPlan,
                         testing::Combine(testing::Range(0, kKinds), testing::Bool()));

TEST(Planner, ChoosesByMechanismAndSize) {
  const auto algorithm = [](CollectiveKind kind, uint64_t count, bool shares_memory, int size) {
    return std::string(
        MustPlan(Make(kind, count, size), MakeGroup(0, size, shares_memory)).algorithm);
  };
  const CollectiveKind all_reduce = CollectiveKind::kAllReduce;
  EXPECT_EQ(algorithm(all_reduce, 4096, true, 4), "one-shot");
  EXPECT_EQ(algorithm(all_reduce, 4097, true, 4), "direct");
  // 32 KiB sent by each, to the others together.
  EXPECT_EQ(algorithm(all_reduce, 8192, false, 2), "exchange");
  EXPECT_EQ(algorithm(all_reduce, 8193, false, 2), "halving-doubling");
  EXPECT_EQ(algorithm(all_reduce, 2730, false, 4), "exchange");
  EXPECT_EQ(algorithm(all_reduce, 2731, false, 4), "doubling");
  EXPECT_EQ(algorithm(all_reduce, 8, false, 9), "doubling");
  EXPECT_EQ(algorithm(all_reduce, 4097, false, 4), "halving-doubling");
  EXPECT_EQ(algorithm(all_reduce, 2 << 20, false, 4), "halving-doubling");
  EXPECT_EQ(algorithm(all_reduce, (2 << 20) + 1, false, 4), "ring");
  EXPECT_EQ(algorithm(all_reduce, 128 << 10, false, 6), "halving-doubling");
  EXPECT_EQ(algorithm(all_reduce, (128 << 10) + 1, false, 6), "ring");
  EXPECT_EQ(algorithm(all_reduce, 1 << 20, true, 1), "alone");
  EXPECT_EQ(algorithm(all_reduce, 0, true, 4), "nothing");
  // What is published counts: all shares.
  EXPECT_EQ(algorithm(CollectiveKind::kReduceScatter, 1024, true, 4), "one-shot");
  EXPECT_EQ(algorithm(CollectiveKind::kReduceScatter, 1025, true, 4), "direct");
  EXPECT_EQ(algorithm(CollectiveKind::kAllToAllV, 100, true, 4), "pairwise");
  EXPECT_EQ(algorithm(CollectiveKind::kBarrier, 0, true, 4), "raise-and-await");
  EXPECT_EQ(algorithm(CollectiveKind::kBarrier, 0, false, 4), "dissemination");
}

TEST(Planner, OversubscribedGroupsSendFewerMessages) {
  Group group = MakeGroup(0, 4, false);
  group.oversubscribed = true;
  const Collective collective = Make(CollectiveKind::kAllReduce, 8, 4);
  EXPECT_STREQ(MustPlan(collective, group).algorithm, "doubling");
  group.size = 2;
  EXPECT_STREQ(MustPlan(Make(CollectiveKind::kAllReduce, 8, 2), group).algorithm, "exchange");
}

TEST(Planner, RingSendsTwoPartsOfNOfEveryByte) {
  const int size = 4;
  const uint64_t count = 1 << 22;
  const Plan plan =
      MustPlan(Make(CollectiveKind::kAllReduce, count, size), MakeGroup(2, size, false));
  uint64_t sent = 0;
  for (uint32_t round = 0; round < plan.rounds; ++round) {
    for (const Step& step : plan.body) {
      if (step.kind == StepKind::kSend) sent += plan.RangeOf(step.source, round).count;
    }
  }
  EXPECT_EQ(sent, 2 * (size - 1) * count / size);
  EXPECT_GT(plan.rounds, 1u);
}

TEST(Planner, SizesBeyondFourGigabytesKeepTheirOffsets) {
  const uint64_t count = uint64_t{3} << 30;  // 12 GiB
  const Plan plan = MustPlan(Make(CollectiveKind::kAllReduce, count, 2), MakeGroup(1, 2, true));
  const Block last = plan.RangeOf({Region::kOutput, 1, 1}, plan.rounds - 1);
  EXPECT_EQ(last.offset + last.count, count);
  EXPECT_EQ(plan.RangeOf({Region::kInput, 1, 1}, 0).offset, count / 2);
}

TEST(Planner, OversubscribedGroupsTakeLargerRounds) {
  Group group = MakeGroup(0, 8, true);
  const Collective collective = Make(CollectiveKind::kAllReduce, 1 << 24, 8);
  const uint32_t rounds = MustPlan(collective, group).rounds;
  group.oversubscribed = true;
  EXPECT_LT(MustPlan(collective, group).rounds, rounds);
}

TEST(Planner, RefusesWhatNobodyCouldMean) {
  const auto refusal = [](const Collective& collective, const Group& group) {
    const absl::StatusOr<Plan> plan = MakePlan(collective, group);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(plan.status().message());
  };
  Collective collective = Make(CollectiveKind::kBroadcast, 10, 3);
  const Group group = MakeGroup(1, 3, false);
  collective.root = 3;
  EXPECT_THAT(refusal(collective, group), HasSubstr("broadcast on rank 1: root 3"));
  collective.root = -1;
  EXPECT_THAT(refusal(collective, group), HasSubstr("root -1"));
  collective.root = 0;
  EXPECT_THAT(refusal(collective, MakeGroup(3, 3, false)), HasSubstr("no such rank"));
  EXPECT_THAT(refusal(collective, MakeGroup(0, 0, false)), HasSubstr("no such rank"));
  collective.count = uint64_t{1} << 60;
  EXPECT_THAT(refusal(collective, group), HasSubstr("beyond any memory"));
  collective.count = 1;
  collective.type = static_cast<DataType>(99);
  EXPECT_THAT(refusal(collective, group), HasSubstr("unknown type"));

  Collective message = Make(CollectiveKind::kSend, 10, 3);
  message.peer = 1;
  EXPECT_THAT(refusal(message, group), HasSubstr("oneself"));
  message.peer = 3;
  EXPECT_THAT(refusal(message, group), HasSubstr("peer 3"));

  EXPECT_THAT(refusal(Make(CollectiveKind::kAllGatherV, 10, 2), group),
              HasSubstr("2 receive counts"));
  Collective exchange = Make(CollectiveKind::kAllToAllV, 10, 3);
  exchange.send_displacements.pop_back();
  EXPECT_THAT(refusal(exchange, group), HasSubstr("2 displacements"));
  exchange = Make(CollectiveKind::kAllToAllV, 10, 3);
  exchange.send_displacements[1] = UINT64_MAX;
  EXPECT_THAT(refusal(exchange, group), HasSubstr("beyond any memory"));
}

}  // namespace
}  // namespace phalanx::plan
