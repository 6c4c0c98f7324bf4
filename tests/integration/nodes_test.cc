// Jobs over several nodes: agents that share no memory, with a network between.
#include <vector>

#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using NodesTest = Ranks;

// Every rank's result is the same float, bit for bit, although the ranks reach each other
// differently.
TEST_F(NodesTest, RanksOfTwoNodesAgree) {
  nodes_ = 2;
  std::vector<std::vector<float>> results(4);
  Run(4, [&](Session& session) {
    View& view = session.view();
    EXPECT_EQ(view.local_size(), 2);
    EXPECT_EQ(view.local_rank(), view.rank() % 2);
    std::vector<float> values(100'000);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 1.0f / static_cast<float>(i + 1 + 7 * static_cast<size_t>(view.rank()));
    }
    ASSERT_TRUE(view.world()
                    .AllReduce(values.data(), values.data(), values.size(), DataType::kFloat32,
                               ReduceOp::kSum)
                    .Wait()
                    .ok());
    results[static_cast<size_t>(view.rank())] = values;
  });
  for (size_t i = 0; i < 100'000; ++i) {
    const float near = 1.0f / (i + 1) + 1.0f / (i + 8) + 1.0f / (i + 15) + 1.0f / (i + 22);
    ASSERT_NEAR(results[0][i], near, 1e-5f);
  }
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(results[static_cast<size_t>(rank)], results[0]);
}

// A communicator of one node's ranks uses shared memory again.
TEST_F(NodesTest, PartsOfANodeSplitOff) {
  nodes_ = 2;
  Run(4, [&](Session& session) {
    View& view = session.view();
    auto node = view.world().Split(view.rank() / 2, view.rank());
    ASSERT_TRUE(node.ok()) << node.status();
    int64_t sum = view.rank();
    ASSERT_TRUE((*node)->AllReduce(&sum, &sum, 1, DataType::kInt64, ReduceOp::kSum).Wait().ok());
    EXPECT_EQ(sum, view.rank() < 2 ? 1 : 5);
  });
}

TEST_F(NodesTest, SharedMemoryAloneCannotSpanNodes) {
  nodes_ = 2;
  transport_ = "shm";
  StartCoordinator();
  StartAgent();
  StartAgent();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto session = Session::Join(OptionsOf(rank, 2));
      EXPECT_EQ(session.status().code(), absl::StatusCode::kUnavailable);
      EXPECT_NE(session.status().message().find("PHALANX_TRANSPORT"), absl::string_view::npos);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace phalanx
