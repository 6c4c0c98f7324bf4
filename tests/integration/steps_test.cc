// View::Step, as far as nobody is lost: what it refuses, and in which order regions change.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ranks.h"

namespace phalanx {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;

absl::Status Nothing() { return absl::OkStatus(); }

class StepsTest : public Ranks {
 protected:
  StepsTest() { live_ = true; }
};

TEST_F(StepsTest, NobodyAppliesAStepBeforeAllHaveCompletedIt) {
  constexpr int64_t kSteps = 20;
  std::array<std::atomic<int>, kSteps> completed{};
  Run(kRanks, [&](Session& session) {
    int64_t value = 7;
    const absl::Status status = session.Run([&](View& view) -> absl::Status {
      const StateRegion state[] = {{"value", &value, sizeof(value)}};
      const absl::StatusOr<int64_t> first = view.Restore(state);
      EXPECT_TRUE(first.ok()) << first.status();
      EXPECT_EQ(*first, 0);
      for (int64_t step = *first; step < kSteps; ++step) {
        std::atomic<int>& count = completed[static_cast<size_t>(step)];
        ++count;
        const absl::Status applied = view.Step(step, [&] {
          EXPECT_EQ(count.load(), kRanks);
          value += step;
          return absl::OkStatus();
        });
        EXPECT_TRUE(applied.ok()) << applied;
      }
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(value, 7 + kSteps * (kSteps - 1) / 2);
  });
}

TEST_F(StepsTest, StepsFollowEachOtherAndRestoreComesFirst) {
  Run(kRanks, [&](Session& session) {
    const absl::Status status = session.Run([&](View& view) -> absl::Status {
      EXPECT_TRUE(absl::IsFailedPrecondition(view.Step(0, Nothing)));
      EXPECT_TRUE(view.Restore({}).ok());
      EXPECT_TRUE(absl::IsFailedPrecondition(view.Restore({}).status()));
      const absl::Status wrong = view.Step(1, Nothing);
      EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
      EXPECT_THAT(std::string(wrong.message()), HasSubstr("Step 1 after step -1"));
      EXPECT_TRUE(view.Step(0, Nothing).ok());
      EXPECT_TRUE(absl::IsInvalidArgument(view.Step(0, Nothing)));
      EXPECT_TRUE(view.Step(1, Nothing).ok());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  });
}

TEST_F(StepsTest, WithoutTheOptionThereAreNone) {
  live_ = false;
  Run(kRanks, [&](Session& session) {
    const absl::Status status = session.Run([&](View& view) -> absl::Status {
      EXPECT_TRUE(view.Restore({}).ok());
      const absl::Status step = view.Step(0, Nothing);
      EXPECT_TRUE(absl::IsFailedPrecondition(step)) << step;
      EXPECT_THAT(std::string(step.message()), HasSubstr("PHALANX_LIVE"));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  });
}

TEST_F(StepsTest, CheckpointsMayBeTakenBesideSteps) {
  Run(kRanks, [&](Session& session) {
    int64_t value = 0;
    const absl::Status status = session.Run([&](View& view) -> absl::Status {
      const StateRegion state[] = {{"value", &value, sizeof(value)}};
      EXPECT_TRUE(view.Restore(state).ok());
      for (int64_t step = 0; step < 5; ++step) {
        EXPECT_TRUE(view.Step(step,
                              [&] {
                                ++value;
                                return absl::OkStatus();
                              })
                        .ok());
        const absl::Status saved = view.Checkpoint(state, step);
        EXPECT_TRUE(saved.ok()) << saved;
      }
      EXPECT_TRUE(absl::IsInvalidArgument(view.Checkpoint(state, 4)));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  });
}

}  // namespace
}  // namespace phalanx
