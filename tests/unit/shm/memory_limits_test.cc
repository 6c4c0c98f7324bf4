#include "memory_limits.h"

#include <gtest/gtest.h>

namespace phalanx::shm {
namespace {

TEST(MemoryLimits, Meminfo) {
  const std::string text =
      "MemTotal:       24632176 kB\nMemFree:          612 kB\nMemAvailable:   100 kB\n";
  EXPECT_EQ(ParseMeminfo(text, "MemAvailable"), 100u * 1024);
  EXPECT_EQ(ParseMeminfo(text, "MemTotal"), uint64_t{24632176} * 1024);
  EXPECT_EQ(ParseMeminfo(text, "Mem"), std::nullopt);
  EXPECT_EQ(ParseMeminfo("", "MemAvailable"), std::nullopt);
  EXPECT_EQ(ParseMeminfo("MemAvailable: none\n", "MemAvailable"), std::nullopt);
}

TEST(MemoryLimits, CgroupPath) {
  EXPECT_EQ(ParseCgroupPath("0::/user.slice/job\n"), "/user.slice/job");
  EXPECT_EQ(ParseCgroupPath("4:memory:/old\n0::/\n"), "/");
  EXPECT_EQ(ParseCgroupPath("4:memory:/old\n"), "");
  EXPECT_EQ(ParseCgroupPath(""), "");
}

TEST(MemoryLimits, CgroupRoom) {
  EXPECT_EQ(ParseCgroupRoom("1000\n", "400\n", "anon 300\ninactive_file 100\n"), 700u);
  EXPECT_EQ(ParseCgroupRoom("1000\n", "1400\n", ""), 0u);
  EXPECT_EQ(ParseCgroupRoom("1000\n", "50\n", "inactive_file 100\n"), 1000u);
  EXPECT_EQ(ParseCgroupRoom("max\n", "400\n", ""), std::nullopt);
  EXPECT_EQ(ParseCgroupRoom("", "", ""), std::nullopt);
}

TEST(MemoryLimits, TheMachineHasSome) {
  EXPECT_GT(PhysicalMemory(), 0u);
  EXPECT_GT(AvailableMemory(), 0u);
  EXPECT_LT(AvailableMemory(), UINT64_MAX);
}

}  // namespace
}  // namespace phalanx::shm
