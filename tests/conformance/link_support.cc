#include "link_support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

namespace phalanx::conformance {
namespace {

uint64_t PatternWord(uint64_t seed, uint64_t index) {
  uint64_t word = (seed + 1) * 0x9e3779b97f4a7c15 + index * 0xbf58476d1ce4e5b9;
  word ^= word >> 29;
  return word * 0x94d049bb133111eb;
}

}  // namespace

void FillPattern(absl::Span<std::byte> bytes, uint64_t seed) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = PatternWord(seed, at);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
  }
}

bool HasPattern(absl::Span<const std::byte> bytes, uint64_t seed) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = PatternWord(seed, at);
    if (std::memcmp(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at)) != 0) {
      return false;
    }
  }
  return true;
}

uint64_t TestSeed() {
  const char* const chosen = std::getenv("PHALANX_TEST_SEED");
  const uint64_t seed =
      chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device()();
  std::printf("replay with PHALANX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

bool LargeTestsWanted() {
  const char* const wanted = std::getenv("PHALANX_LARGE_TESTS");
  return wanted != nullptr && std::string(wanted) == "1";
}

spi::Identity IdentityOf(int rank) {
  spi::Identity identity;
  identity.job_token = 0x5eed'f00d'0000'0001;
  identity.epoch = Epoch{7};
  identity.rank = rank;
  identity.incarnation = Incarnation{1000 + static_cast<uint64_t>(rank)};
  return identity;
}

spi::PeerIdentity PeerOf(const spi::Identity& identity) {
  return {identity.rank, identity.incarnation};
}

bool Drive(const std::vector<spi::Wire*>& wires, const std::function<bool()>& done,
           Clock::duration limit) {
  const Deadline deadline = Deadline::After(limit);
  size_t turn = 0;
  while (!done()) {
    bool moved = false;
    for (spi::Wire* wire : wires) moved = wire->Progress() || moved;
    if (moved) continue;
    if (deadline.Passed(Clock::now())) return false;
    wires[turn++ % wires.size()]->Wait(std::chrono::microseconds(50));
  }
  return true;
}

void DriveFor(const std::vector<spi::Wire*>& wires, Clock::duration time) {
  const Deadline deadline = Deadline::After(time);
  Drive(wires, [&] { return deadline.Passed(Clock::now()); });
}

struct Driver::Thread {
  std::thread thread;
};

Driver::Driver(spi::Wire* wire) : wire_(wire), thread_(std::make_unique<Thread>()) {
  thread_->thread = std::thread([this] {
    while (!stop_.load()) {
      // Longer than any test: whatever goes on is due to a wake-up, not to the timeout.
      if (!wire_->Progress()) wire_->Wait(std::chrono::seconds(300));
    }
  });
}

Driver::~Driver() {
  stop_.store(true);
  wire_->WakeUp();
  thread_->thread.join();
}

void CountingListener::Signal() {
  std::lock_guard<std::mutex> lock(mutex_);
  count_.fetch_add(1);
  changed_.notify_all();
}

bool CountingListener::WaitFor(int count, Clock::duration limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return count_.load() >= count; });
}

void LinkTest::SetUp() { fixture_ = MakeLinkFixture(); }

std::unique_ptr<spi::Wire> LinkTest::OpenWire() {
  absl::StatusOr<std::unique_ptr<spi::Wire>> wire = fixture_->Open();
  if (wire.ok()) {
    EXPECT_LE((*wire)->address().size(), 1024u);
    return std::move(*wire);
  }
  if (absl::IsUnimplemented(wire.status())) {
    [&] { GTEST_SKIP() << wire.status().message(); }();
  } else {
    ADD_FAILURE() << wire.status();
  }
  return nullptr;
}

void LinkPairTest::SetUp() {
  LinkTest::SetUp();
  for (int rank = 0; rank < 2; ++rank) {
    wire_[rank] = OpenWire();
    if (wire_[rank] == nullptr) return;
    wire_[rank]->SetIdentity(IdentityOf(rank));
  }
  for (int rank = 0; rank < 2; ++rank) {
    auto link = wire_[rank]->Connect(PeerOf(IdentityOf(1 - rank)), wire_[1 - rank]->address());
    ASSERT_TRUE(link.ok()) << link.status();
    link_[rank] = std::move(*link);
  }
}

void LinkPairTest::Exchange(int from, uint64_t tag, size_t bytes) {
  Message sent(bytes, tag);
  Message received(bytes);
  link_[from]->Send(tag, sent.span(), &sent.transfer);
  link_[1 - from]->Receive(tag, received.span(), &received.transfer);
  ASSERT_TRUE(Drive(both(), [&] { return sent.transfer.done() && received.transfer.done(); }));
  ASSERT_TRUE(sent.transfer.status().ok()) << sent.transfer.status();
  ASSERT_TRUE(received.transfer.status().ok()) << received.transfer.status();
  ASSERT_TRUE(HasPattern(received.span(), tag));
}

}  // namespace phalanx::conformance
