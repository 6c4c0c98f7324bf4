// Silence, and whose fault it is.
#include "membership/suspicion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace phalanx::membership {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Ticks at whole multiples of 100 ms; suspects after 700 ms.
class SuspicionTest : public ::testing::Test {
 protected:
  static Clock::time_point At(int ms) { return Clock::time_point(milliseconds(ms)); }
  // Ticks up to and with `ms`, and returns whoever became a suspect, with the time.
  std::vector<std::pair<uint64_t, int>> TickTo(int ms) {
    std::vector<std::pair<uint64_t, int>> suspects;
    for (; next_ms_ <= ms; next_ms_ += 100) {
      for (const uint64_t peer : suspicion_.Tick(At(next_ms_))) {
        suspects.emplace_back(peer, next_ms_);
      }
    }
    return suspects;
  }
  // As if the process had not run until then.
  void SleepTo(int ms) { next_ms_ = ms; }

  Suspicion suspicion_{SuspicionSettings{}};
  int next_ms_ = 0;
};

TEST_F(SuspicionTest, WhoeverIsHeardIsNoSuspect) {
  suspicion_.Watch(1, At(0));
  for (int ms = 600; ms < 20'000; ms += 600) {
    EXPECT_THAT(TickTo(ms), IsEmpty());
    EXPECT_EQ(suspicion_.Hear(1, At(ms)), std::nullopt);
  }
}

TEST_F(SuspicionTest, SilenceMakesASuspectOnce) {
  suspicion_.Watch(1, At(0));
  suspicion_.Watch(2, At(0));
  TickTo(500);
  suspicion_.Hear(2, At(450));
  EXPECT_THAT(TickTo(3000), ElementsAre(std::pair(1, 700), std::pair(2, 1200)));
  EXPECT_TRUE(suspicion_.IsSuspect(1));
  EXPECT_THAT(suspicion_.Suspects(), ElementsAre(1, 2));
  EXPECT_EQ(suspicion_.SilentFor(1, At(3000)), milliseconds(3000));
  EXPECT_EQ(suspicion_.Hear(1, At(3100)), milliseconds(3100));
  EXPECT_FALSE(suspicion_.IsSuspect(1));
  EXPECT_EQ(suspicion_.SilentFor(1, At(3150)), milliseconds(50));
  EXPECT_THAT(TickTo(4000), ElementsAre(std::pair(1, 3800)));
}

TEST_F(SuspicionTest, WatchingAgainChangesNothing) {
  suspicion_.Watch(1, At(0));
  TickTo(500);
  suspicion_.Watch(1, At(500));
  EXPECT_THAT(TickTo(700), ElementsAre(std::pair(1, 700)));
  suspicion_.Watch(1, At(710));
  EXPECT_TRUE(suspicion_.IsSuspect(1));
}

TEST_F(SuspicionTest, TheForgottenAreNobody) {
  suspicion_.Watch(1, At(0));
  TickTo(600);
  suspicion_.Forget(1);
  EXPECT_THAT(TickTo(2000), IsEmpty());
  EXPECT_EQ(suspicion_.Hear(1, At(2000)), std::nullopt);
  EXPECT_FALSE(suspicion_.IsSuspect(1));
  EXPECT_EQ(suspicion_.SilentFor(1, At(2000)), milliseconds(0));
}

TEST_F(SuspicionTest, AfterALongSleepOfItsOwnEverybodyHasAWholePeriodAnew) {
  suspicion_.Watch(1, At(0));
  suspicion_.Watch(2, At(0));
  TickTo(600);
  suspicion_.Hear(2, At(600));
  SleepTo(60'000);
  EXPECT_THAT(TickTo(60'600), IsEmpty());
  EXPECT_THAT(TickTo(60'700), ElementsAre(std::pair(1, 60'700), std::pair(2, 60'700)));
}

TEST_F(SuspicionTest, ASuspectOfBeforeTheSleepStaysOne) {
  suspicion_.Watch(1, At(0));
  EXPECT_THAT(TickTo(700), ElementsAre(std::pair(1, 700)));
  SleepTo(5000);
  EXPECT_THAT(TickTo(5600), IsEmpty());
  EXPECT_TRUE(suspicion_.IsSuspect(1));
  EXPECT_EQ(suspicion_.Hear(1, At(5700)), milliseconds(5700));
}

// On a machine that is always late: each tick 200 ms after the last, so 100 ms of each don't count.
TEST_F(SuspicionTest, ItsOwnDelaysDontCount) {
  suspicion_.Watch(1, At(0));
  int suspected_at = 0;
  for (int ms = 0; ms <= 2000 && suspected_at == 0; ms += 200) {
    if (!suspicion_.Tick(At(ms)).empty()) suspected_at = ms;
  }
  EXPECT_EQ(suspected_at, 1400);
}

TEST_F(SuspicionTest, WhoIsHeardDuringADelayIsNotHeardInTheFuture) {
  suspicion_.Watch(1, At(0));
  TickTo(0);
  suspicion_.Hear(1, At(290));
  suspicion_.Tick(At(300));  // 200 ms late
  EXPECT_EQ(suspicion_.SilentFor(1, At(300)), milliseconds(0));
}

TEST_F(SuspicionTest, AnotherPeriodCountsFromThenOn) {
  suspicion_.Watch(1, At(0));
  TickTo(500);
  suspicion_.set_suspect_after(milliseconds(2000));
  EXPECT_THAT(TickTo(2500), ElementsAre(std::pair(1, 2000)));
}

// Peers that are heard at least every 600 ms, and a watcher that sleeps for any time at any moment:
// nobody is ever suspected, as long as what was said during a sleep is heard within 600 ms after.
TEST_F(SuspicionTest, NobodyWhoSpeaksIsEverASuspectHoweverTheWatcherSleeps) {
  std::mt19937_64 random(20261202);
  for (int round = 0; round < 200; ++round) {
    Suspicion suspicion{SuspicionSettings{}};
    int now = 0;
    suspicion.Watch(1, At(0));
    int heard = 0;
    for (int tick = 0; tick < 200; ++tick) {
      const int sleep = random() % 10 == 0 ? static_cast<int>(random() % 5000) : 0;
      now += 100 + sleep;
      ASSERT_THAT(suspicion.Tick(At(now)), IsEmpty()) << "round " << round << " at " << now;
      if (sleep > 0 || now - heard >= 500) {
        suspicion.Hear(1, At(now + 50));
        heard = now + 50;
      }
    }
  }
}

}  // namespace
}  // namespace phalanx::membership
