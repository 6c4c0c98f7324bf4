#include "control_protocol/launcher_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace phalanx::control {
namespace {

using testing::HasSubstr;

TEST(LauncherNoticeTest, IsALine) {
  EXPECT_EQ(ToLine(NodeEvicted{3}), "evicted 3");
  EXPECT_EQ(ToLine(LinkFaultDue{"cut link=0-1 at=step:40 for=1.5s"}),
            "fault cut link=0-1 at=step:40 for=1.5s");
}

TEST(LauncherNoticeTest, IsReadAsItWasWritten) {
  for (const LauncherNotice& notice :
       {LauncherNotice(NodeEvicted{0}), LauncherNotice(NodeEvicted{199}),
        LauncherNotice(LinkFaultDue{"drop link=0>1 at=time:1s fraction=0.01"})}) {
    const auto read = ParseLauncherNotice(ToLine(notice));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, notice) << ToLine(notice);
  }
}

TEST(LauncherNoticeTest, OtherLinesAreQuoted) {
  for (const char* line : {"", "3", "evicted", "evicted ", "evicted x", "evicted -1", "evicted 3 4",
                           "evicted 99999999999", "fault", "fault ", "faults 3", "Evicted 3"}) {
    const absl::Status status = ParseLauncherNotice(line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'" + std::string(line) + "'"));
  }
}

}  // namespace
}  // namespace phalanx::control
