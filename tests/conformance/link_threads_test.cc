// Waiting, waking, and several threads on one wire.
#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "link_support.h"

namespace phalanx::conformance {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

using LinkThreads = LinkPairTest;

TEST_F(LinkThreads, WakeUpBeforeWaitIsKept) {
  DriveFor(both(), milliseconds(50));
  const Clock::time_point begin = Clock::now();
  wire_[0]->WakeUp();
  wire_[0]->Wait(seconds(30));
  EXPECT_LT(Clock::now() - begin, seconds(5));
}

TEST_F(LinkThreads, WaitEndsAtItsTimeout) {
  DriveFor(both(), milliseconds(50));
  const Clock::time_point begin = Clock::now();
  wire_[0]->Wait(milliseconds(20));
  EXPECT_LT(Clock::now() - begin, seconds(5));
}

TEST_F(LinkThreads, NoWakeUpIsLost) {
  std::mt19937_64 random(TestSeed());
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < 300; ++round) {
    std::atomic<bool> wanted{false};
    std::thread waiter([&] {
      while (!wanted.load()) wire_[0]->Wait(seconds(300));
    });
    const Clock::time_point until = Clock::now() + microseconds(random() % 200);
    while (Clock::now() < until) std::this_thread::yield();
    wanted.store(true);
    wire_[0]->WakeUp();
    waiter.join();
  }
  EXPECT_LT(Clock::now() - begin, seconds(60));
}

TEST_F(LinkThreads, WakeUpReachesAllWaiters) {
  std::atomic<bool> wanted{false};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      while (!wanted.load()) wire_[0]->Wait(seconds(300));
    });
  }
  DriveFor({wire_[1].get()}, milliseconds(20));
  wanted.store(true);
  wire_[0]->WakeUp();
  for (std::thread& waiter : waiters) waiter.join();
}

// Each wire has a parked thread that moves it; messages come from others, who never call
// Progress(): each send must wake the parked thread where that is needed, and each arrival too.
TEST_F(LinkThreads, ParkedProgressThreadsMoveEverything) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 100;
  Driver drivers[2] = {Driver(wire_[0].get()), Driver(wire_[1].get())};
  std::atomic<int> wrong{0};
  const auto play = [&](int rank, int thread) {
    spi::Link& link = *link_[rank];
    for (int round = 0; round < kRounds; ++round) {
      CountingListener listener;
      const size_t bytes = round % 10 == 9 ? 300'000 : static_cast<size_t>(round * 7);
      const auto tag = static_cast<uint64_t>(thread * 1000 + round);
      Message sent(bytes, &listener);
      Message received(bytes, &listener);
      FillPattern(sent.span(), tag * 2 + static_cast<uint64_t>(rank));
      link.Receive(tag, received.span(), &received.transfer);
      link.Send(tag, sent.span(), &sent.transfer);
      const bool done = listener.WaitFor(2);
      if (!done) {
        ++wrong;
        wire_[rank]->Abort(absl::DeadlineExceededError("a wake-up was lost"));
        return;
      }
      if (!received.transfer.status().ok() ||
          !HasPattern(received.span(), tag * 2 + static_cast<uint64_t>(1 - rank))) {
        ++wrong;
      }
    }
  };
  std::vector<std::thread> players;
  for (int rank = 0; rank < 2; ++rank) {
    for (int thread = 0; thread < kThreads; ++thread) players.emplace_back(play, rank, thread);
  }
  for (std::thread& player : players) player.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Several threads call Progress() of the same wires while others post.
TEST_F(LinkThreads, SeveralThreadsProgressOneWire) {
  constexpr int kMessages = 500;
  std::atomic<bool> stop{false};
  std::vector<std::thread> movers;
  for (int i = 0; i < 4; ++i) {
    movers.emplace_back([&, i] {
      while (!stop.load()) {
        if (!wire_[i % 2]->Progress()) wire_[i % 2]->Wait(milliseconds(1));
      }
    });
  }
  CountingListener listener;
  std::deque<Message> sent;
  std::deque<Message> received;
  for (int i = 0; i < kMessages; ++i) {
    const size_t bytes = static_cast<size_t>(i) * 97 % 50'000;
    FillPattern(sent.emplace_back(bytes, &listener).span(), static_cast<uint64_t>(i));
    received.emplace_back(bytes, &listener);
  }
  std::thread sender([&] {
    for (size_t i = 0; i < kMessages; ++i) link_[0]->Send(i, sent[i].span(), &sent[i].transfer);
  });
  for (size_t i = kMessages; i-- > 0;) {
    link_[1]->Receive(i, received[i].span(), &received[i].transfer);
  }
  EXPECT_TRUE(listener.WaitFor(2 * kMessages));
  sender.join();
  stop.store(true);
  for (const auto& wire : wire_) wire->WakeUp();
  for (std::thread& mover : movers) mover.join();
  if (listener.count() < 2 * kMessages) wire_[0]->Abort(absl::InternalError("test failed"));
  for (size_t i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(received[i].transfer.status().ok()) << received[i].transfer.status();
    ASSERT_TRUE(HasPattern(received[i].span(), i));
  }
}

}  // namespace
}  // namespace phalanx::conformance
