#include "control_coordinator/job_event.h"

#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

TEST(JobEventTest, IsAJsonObjectOnOneLine) {
  const Clock::time_point at{std::chrono::nanoseconds(7)};
  EXPECT_EQ(ToJsonLine({"recovered", {{"epoch", 2}, {"step", -1}}}, at),
            R"({"event": "recovered", "at_ns": 7, "epoch": 2, "step": -1})");
  EXPECT_EQ(ToJsonLine({"resumed", {}}, at), R"({"event": "resumed", "at_ns": 7})");
}

}  // namespace
}  // namespace phalanx::control
