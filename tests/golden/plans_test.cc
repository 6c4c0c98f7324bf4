// Plans as text, compared with the files in plans/: a change of an algorithm shows in review, step
// by step. PHALANX_UPDATE_GOLDEN=1 writes the files instead.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "plan/planner.h"

namespace phalanx::plan {
namespace {

constexpr uint64_t kSmall = 8;                // elements
constexpr uint64_t kMiddle = 4 * 1024;        // 16 KiB of float32
constexpr uint64_t kLarge = 1024 * 1024 + 3;  // and a rest

Collective MakeCollective(CollectiveKind kind, ReduceOp op, uint64_t count, int rank, int size) {
  Collective collective;
  collective.kind = kind;
  collective.type = DataType::kFloat32;
  collective.op = op;
  collective.count = count;
  collective.root = size > 1 ? 1 : 0;
  collective.peer = rank ^ 1;
  for (int i = 0; i < size; ++i) {
    const uint64_t share = count + static_cast<uint64_t>(i);
    const uint64_t place = (count + 8) * static_cast<uint64_t>(i);
    if (kind == CollectiveKind::kAllGatherV || kind == CollectiveKind::kAllToAllV) {
      collective.receive_counts.push_back(share);
      collective.receive_displacements.push_back(place);
    }
    if (kind == CollectiveKind::kAllToAllV) {
      collective.send_counts.push_back(count + static_cast<uint64_t>(rank));
      collective.send_displacements.push_back(place);
    }
  }
  return collective;
}

std::string TextOf(const Collective& collective, const Group& group) {
  const absl::StatusOr<Plan> plan = MakePlan(collective, group);
  if (!plan.ok()) return plan.status().ToString() + "\n";
  return ToText(*plan);
}

// Plans of one kind over one mechanism: of every rank in small groups, of the last in larger ones.
std::string AllText(CollectiveKind kind, bool shares_memory) {
  std::string text;
  const bool message = kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
  for (const int size : {1, 2, 3, 4, 5, 8}) {
    if (message && size != 2) continue;
    for (const uint64_t count : {kSmall, kMiddle, kLarge}) {
      for (int rank = size <= 3 ? 0 : size - 1; rank < size; ++rank) {
        Group group;
        group.rank = rank;
        group.size = size;
        group.shares_memory = shares_memory;
        text += "== " + std::to_string(count) + " elements\n";
        text += TextOf(MakeCollective(kind, ReduceOp::kSum, count, rank, size), group) + "\n";
      }
      if (kind == CollectiveKind::kBarrier) break;
    }
  }
  return text;
}

void Compare(const std::string& name, const std::string& text) {
  const std::string path = std::string(PHALANX_GOLDEN_FOLDER) + "/" + name + ".txt";
  const char* const update = std::getenv("PHALANX_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path << " is missing; PHALANX_UPDATE_GOLDEN=1 writes it";
  std::stringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(text, wanted.str()) << "if the change is meant, PHALANX_UPDATE_GOLDEN=1 rewrites "
                                << path;
}

class GoldenPlans : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(GoldenPlans, AreAsWritten) {
  const auto kind = static_cast<CollectiveKind>(std::get<0>(GetParam()));
  const bool shares_memory = std::get<1>(GetParam());
  const bool always_links = kind == CollectiveKind::kAllToAllV || kind == CollectiveKind::kSend ||
                            kind == CollectiveKind::kReceive;
  if (shares_memory && always_links) {
    EXPECT_EQ(AllText(kind, true), AllText(kind, false));
    return;
  }
  Compare(std::string(NameOf(kind)) + (shares_memory ? "_memory" : "_links"),
          AllText(kind, shares_memory));
}

constexpr int kKinds = static_cast<int>(CollectiveKind::kBarrier) + 1;
INSTANTIATE_TEST_SUITE_P(All, GoldenPlans,
                         testing::Combine(testing::Range(0, kKinds), testing::Bool()));

// Averages and pre-multiplied sums add steps of their own over links.
TEST(GoldenOperations, AreAsWritten) {
  std::string text;
  for (const DataType type : {DataType::kInt32, DataType::kFloat32}) {
    for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kPreMultipliedSum}) {
      for (const CollectiveKind kind :
           {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kReduce}) {
        for (const uint64_t count : {kSmall, kMiddle, kLarge}) {
          Group group;
          group.rank = 1;
          group.size = 3;
          Collective collective = MakeCollective(kind, op, count, group.rank, group.size);
          collective.type = type;
          text += std::string("== ") + NameOf(kind) + " of " + std::to_string(count) +
                  " elements\n" + TextOf(collective, group) + "\n";
        }
      }
    }
  }
  Compare("operations", text);
}

}  // namespace
}  // namespace phalanx::plan
