// How a member waits: it looks, then lets others run, then sleeps.
#include <sched.h>

#include "futex.h"
#include "group.h"

namespace phalanx::shm {
namespace {

// With a core for each rank a peer is seldom late by more than a few microseconds. First we look
// without a pause, which takes 50 ns on some cores, as long as the signal itself.
constexpr int kEagerLooks = 64;
constexpr int kPausedLooks = 64;
// Then the peer may need our core, which we give away some times before we sleep: a sleep and its
// wake-up cost 5 µs and more, a yield to another process about 1, and one to nobody less.
constexpr int kYields = 64;
constexpr int kYieldsOversubscribed = 16;

// If strangers have the core for so long, a sleeper, whom a wake-up puts ahead of them, gets it
// back earlier: this many waits do without yields then.
constexpr std::chrono::microseconds kLongYield{200};
constexpr int kWaitsWithoutYield = 64;

inline void RelaxCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void ShmGroup::Wait(int peer, uint8_t signal, uint32_t round, Clock::duration timeout) {
  if (Reached(peer, signal, round)) return;
  WaitForWord(peer, signal, AbsoluteRound(round) + 1, timeout);
}

void ShmGroup::WaitToPublish(const spi::Publish& publish, Clock::duration timeout) {
  if (!described_) {
    const uint32_t wanted = operation_ - kOperationSlots + 1;
    for (int peer = 0; peer < size(); ++peer) {
      const Member& member = members_[static_cast<size_t>(peer)];
      if (member.segment == nullptr || HasReached(member.entered, wanted)) continue;
      return WaitForWord(peer, kEnteredWord, wanted, timeout);
    }
    // A peer hasn't attached yet; that happens once in a session and wakes nobody.
    if (!aborted_.load(std::memory_order_relaxed)) FutexWait(own_->parked, 0, timeout);
    return;
  }
  // A window is full, or it has to grow.
  for (uint32_t back : {kWindowChunks, 1u}) {
    if (publish.round < back) continue;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_ || Reached(peer, publish.acknowledged, publish.round - back)) continue;
      return Wait(peer, publish.acknowledged, publish.round - back, timeout);
    }
  }
  // Nobody holds it up but the lack of memory for a window; others may free some.
  if (!aborted_.load(std::memory_order_relaxed)) FutexWait(own_->parked, 0, timeout);
}

template <typename Done>
bool ShmGroup::YieldUntil(const Done& done) {
  if (waits_without_yield_ > 0) {
    --waits_without_yield_;
    return false;
  }
  const int yields = oversubscribed_ ? kYieldsOversubscribed : kYields;
  Clock::time_point before = Clock::now();
  for (int i = 0; i < yields; ++i) {
    sched_yield();
    const Clock::time_point after = Clock::now();
    if (after - before > kLongYield) waits_without_yield_ = kWaitsWithoutYield;
    if (done()) return true;
    if (waits_without_yield_ > 0) return false;
    before = after;
  }
  return false;
}

void ShmGroup::WaitForWord(int peer, int word, uint32_t target, Clock::duration timeout) {
  const Member& member = members_[static_cast<size_t>(peer)];
  const auto done = [&] {
    return HasReached(LoadWord(member, word), target) || aborted_.load(std::memory_order_relaxed);
  };
  if (done() || timeout <= Clock::duration::zero()) return;
  if (!oversubscribed_) {
    for (int i = 0; i < kEagerLooks; ++i) {
      if (done()) return;
    }
    for (int i = 0; i < kPausedLooks; ++i) {
      RelaxCore();
      if (done()) return;
    }
  }
  if (YieldUntil(done)) return;
  Park(peer, word, target, timeout);
}

void ShmGroup::Park(int peer, int word, uint32_t target, Clock::duration timeout) {
  const Member& member = members_[static_cast<size_t>(peer)];
  const std::atomic<uint32_t>& shared = member.block->words[word];
  sleeping_on_.store(&shared, std::memory_order_seq_cst);
  own_->parked.store(ParkedOn(peer, word), std::memory_order_seq_cst);
  const uint32_t seen = LoadWord(member, word);
  if (!HasReached(seen, target) && !aborted_.load(std::memory_order_seq_cst)) {
    FutexWait(shared, seen, timeout);
  }
  own_->parked.store(0, std::memory_order_release);
  sleeping_on_.store(nullptr, std::memory_order_release);
}

void ShmGroup::Abort() {
  aborted_.store(true, std::memory_order_seq_cst);
  const std::atomic<uint32_t>* const word = sleeping_on_.load(std::memory_order_seq_cst);
  // The mapping lives as long as the node, whatever word it is by now.
  if (word != nullptr) FutexWakeAll(*word);
}

}  // namespace phalanx::shm
