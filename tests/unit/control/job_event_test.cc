#include "control_coordinator/job_event.h"

#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

TEST(JobEventTest, IsAJsonObjectOnOneLine) {
  EXPECT_EQ(ToJsonLine({"recovered", {{"epoch", 2}, {"step", -1}}}),
            R"({"event": "recovered", "epoch": 2, "step": -1})");
  EXPECT_EQ(ToJsonLine({"resumed", {}}), R"({"event": "resumed"})");
}

}  // namespace
}  // namespace phalanx::control
