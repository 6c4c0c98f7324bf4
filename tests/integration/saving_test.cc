// Checkpoints in Session::Run: ranks are lost, and the others go on from what was saved.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "run_fixture.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

// What the job computes is what it would have without the loss: each step adds what depends on all
// ranks' values before it.
class SavingRunTest : public RunTest, public ::testing::WithParamInterface<bool> {
 protected:
  // Of the state after `step`, with the copy taken meanwhile or at once.
  static CheckpointCopy Save(View& view, absl::Span<const StateRegion> regions, int64_t step) {
    return GetParam() ? view.BeginCheckpoint(regions, step)
                      : CheckpointCopy(view.Checkpoint(regions, step));
  }
};

INSTANTIATE_TEST_SUITE_P(Overlapped, SavingRunTest, ::testing::Bool());

TEST_P(SavingRunTest, GoesOnFromACheckpointToTheSameResult) {
  constexpr int64_t kSteps = 20;
  constexpr int64_t kLossAt = 12;
  std::mutex mutex;
  std::vector<int64_t> results;
  std::atomic<int64_t> steps_of_rank_0{0};
  const auto make_body = [&](int /*process*/) -> Body {
    auto state = std::make_shared<std::vector<int64_t>>(kMany, 1);
    return [&, state](Session&, View& view) {
      const StateRegion regions[] = {{"state", state->data(), kMany * sizeof(int64_t)}};
      const auto first = view.Restore(regions);
      if (!first.ok()) return first.status();
      CheckpointCopy saved;
      for (int64_t step = *first; step < kSteps; ++step) {
        if (view.epoch() == 1 && step == kLossAt) return LoseIn(view, 1, {1});
        std::vector<int64_t> sums = *state;
        sums[0] += view.rank();
        if (const absl::Status status = Sum(view.world(), &sums); !status.ok()) return status;
        if (const absl::Status status = saved.Wait(); !status.ok()) return status;
        for (size_t i = 0; i < kMany; ++i) (*state)[i] = (sums[i] + step) % 1'000'003;
        saved = Save(view, regions, step);
        if (view.rank() == 0) ++steps_of_rank_0;
      }
      const std::lock_guard lock(mutex);
      results.push_back((*state)[0]);
      results.push_back((*state)[kMany - 1]);
      return absl::OkStatus();
    };
  };
  const auto ends = RunJob(3, 1, make_body);
  std::array<int64_t, 2> expected = {1, 1};
  for (int64_t step = 0; step < kSteps; ++step) {
    expected[0] = (3 * expected[0] + 3 + step) % 1'000'003;
    expected[1] = (3 * expected[1] + step) % 1'000'003;
  }
  ASSERT_EQ(results.size(), 6U);
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], expected[i % 2]) << i;
  EXPECT_GE(steps_of_rank_0, kSteps);
  EXPECT_LE(steps_of_rank_0, kSteps + kLossAt);
  for (const size_t process : {0U, 2U, 3U}) ExpectGoodEnd(ends[process]);
}

// It takes only what Checkpoint() takes, and one at a time.
TEST_F(RunTest, ACheckpointThatIsBegunIsWaitedFor) {
  const auto ends = RunJob(2, 0, [](Session&, View& view) -> absl::Status {
    std::vector<int64_t> state(kMany, 1);
    const StateRegion regions[] = {{"state", state.data(), kMany * sizeof(int64_t)}};
    EXPECT_EQ(view.BeginCheckpoint(regions, 0).Wait().code(),
              absl::StatusCode::kFailedPrecondition);
    const auto first = view.Restore(regions);
    if (!first.ok()) return first.status();
    EXPECT_EQ(view.BeginCheckpoint({}, 0).Wait().code(), absl::StatusCode::kInvalidArgument);
    CheckpointCopy copy = view.BeginCheckpoint(regions, 0);
    const absl::Status second = view.BeginCheckpoint(regions, 1).Wait();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.message()), HasSubstr("wait for it first"));
    EXPECT_EQ(view.Checkpoint(regions, 1).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(copy.Wait().ok()) << copy.Wait();
    EXPECT_EQ(view.BeginCheckpoint(regions, 0).Wait().code(), absl::StatusCode::kInvalidArgument);
    copy = view.BeginCheckpoint(regions, 1);
    const CheckpointCopy moved = std::move(copy);
    // Whose end waits too, so the state outlives it.
    return absl::OkStatus();
  });
  for (const End& end : ends) ExpectGoodEnd(end);
}

}  // namespace
}  // namespace phalanx
