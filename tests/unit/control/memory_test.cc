#include "control_process/memory.h"

#include <gtest/gtest.h>

namespace phalanx::control {
namespace {

TEST(MemoryTest, OfTheMachine) {
  EXPECT_EQ(AvailableInMachine("MemTotal:       24658684 kB\nMemFree:          100 kB\n"
                               "MemAvailable:         3 kB\n"),
            3072u);
  EXPECT_EQ(AvailableInMachine(""), std::nullopt);
  EXPECT_EQ(AvailableInMachine("MemAvailable: many kB"), std::nullopt);
}

TEST(MemoryTest, OfAGroupWithALimit) {
  EXPECT_EQ(AvailableInGroup("1000\n", "400\n", "anon 300\ninactive_file 50\n"), 650u);
  EXPECT_EQ(AvailableInGroup("1000\n", "1200\n", ""), 0u);
  EXPECT_EQ(AvailableInGroup("max\n", "400\n", ""), std::nullopt);
  EXPECT_EQ(AvailableInGroup("", "", ""), std::nullopt);
}

TEST(MemoryTest, OfThisProcess) {
  EXPECT_GT(AvailableMemory(), 1u << 20);
  EXPECT_LT(AvailableMemory(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace phalanx::control
