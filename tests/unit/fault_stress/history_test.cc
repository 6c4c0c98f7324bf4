#include "history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phalanx::stress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRecovered[] =
    R"({"event": "recovered", "epoch": 2, "step": 8, "total_us": 30, "returned_us": 10, "restored_us": 20})";

TEST(HistoryTest, CountsWhatHappened) {
  const auto history = ParseEvents(std::string(R"({"event": "view", "epoch": 1}
{"event": "committed", "version": 7, "epoch": 1}
{"event": "fault", "index": 0}
{"event": "member_lost", "rank": 2, "epoch": 1}
{"event": "copy_corrupt", "version": 7, "epoch": 1, "rank": 2}
)") + kRecovered + "\n");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->faults, 1);
  EXPECT_EQ(history->corrupt_copies, 1);
  ASSERT_EQ(history->recoveries.size(), 1u);
  EXPECT_EQ(history->recoveries[0].total_us, 30);
  EXPECT_EQ(history->recoveries[0].returned_us, 10);
  EXPECT_EQ(history->recoveries[0].restored_us, 20);
  EXPECT_THAT(history->lost, IsEmpty());
}

TEST(HistoryTest, ACommittedVersionThatTheJobDoesntGoOnFromIsLost) {
  const auto history =
      ParseEvents(std::string("{\"event\": \"committed\", \"version\": 8, \"epoch\": 1}\n") +
                  kRecovered + "\n" + kRecovered + "\n");
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(history->lost, ElementsAre(HasSubstr("version 8 was committed")));
}

TEST(HistoryTest, ALossThatIsSaidIsCountedOnce) {
  const auto history = ParseEvents(std::string(R"({"event": "committed", "version": 9, "epoch": 1}
{"event": "version_lost", "version": 9, "epoch": 1, "rank": 2}
)") + kRecovered);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(history->lost, ElementsAre("version 9 is lost with the shard of rank 2"));
}

TEST(HistoryTest, WhatIsNoEventIsAnError) {
  for (const char* text : {"no", "[]", "{}", R"({"event": 3})", R"({"event": "view")",
                           R"({"event": "committed", "version": "x"})"}) {
    EXPECT_FALSE(ParseEvents(text).ok()) << text;
  }
  EXPECT_TRUE(ParseEvents("").ok());
}

}  // namespace
}  // namespace phalanx::stress
