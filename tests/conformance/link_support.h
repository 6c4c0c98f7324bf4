// Tools of the link conformance tests.
#ifndef PHALANX_TESTS_CONFORMANCE_LINK_SUPPORT_H_
#define PHALANX_TESTS_CONFORMANCE_LINK_SUPPORT_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "link_conformance.h"
#include "spi/link.h"

namespace phalanx::conformance {

// Bytes that depend on `seed` and their place.
void FillPattern(absl::Span<std::byte> bytes, uint64_t seed);
bool HasPattern(absl::Span<const std::byte> bytes, uint64_t seed);

// From PHALANX_TEST_SEED, else random; printed either way.
uint64_t TestSeed();
bool LargeTestsWanted();  // PHALANX_LARGE_TESTS=1

// A message of our own with its transfer.
struct Message {
  explicit Message(size_t bytes, spi::TransferListener* listener = nullptr)
      : buffer(bytes), transfer(listener) {}
  Message(size_t bytes, uint64_t seed) : Message(bytes) {
    FillPattern(absl::MakeSpan(buffer), seed);
  }

  absl::Span<std::byte> span() { return absl::MakeSpan(buffer); }

  std::vector<std::byte> buffer;
  spi::Transfer transfer;
};

spi::Identity IdentityOf(int rank);
spi::PeerIdentity PeerOf(const spi::Identity& identity);

// Progresses `wires` on this thread until `done` or `limit`, whose passing it returns as false.
bool Drive(const std::vector<spi::Wire*>& wires, const std::function<bool()>& done,
           Clock::duration limit = std::chrono::seconds(60));
// Drives for `time`, whatever happens.
void DriveFor(const std::vector<spi::Wire*>& wires, Clock::duration time);

// Progresses a wire on a thread of its own until destroyed, blocking in Wait().
class Driver {
 public:
  explicit Driver(spi::Wire* wire);
  ~Driver();

 private:
  spi::Wire* const wire_;
  std::atomic<bool> stop_{false};
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

// Blocks threads until signalled often enough.
class CountingListener final : public spi::TransferListener {
 public:
  void Signal() override;
  // False after `limit`.
  bool WaitFor(int count, Clock::duration limit = std::chrono::seconds(60));
  int count() const { return count_.load(); }

 private:
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

// The base of all tests: the fixture and as many wires as a test wants, in this process.
class LinkTest : public testing::Test {
 protected:
  void SetUp() override;

  // Opens a wire, or skips the test. Call as: OpenWire(&wire); if (skipped()) return;
  std::unique_ptr<spi::Wire> OpenWire();

  std::unique_ptr<LinkFixture> fixture_;
};

// Two connected wires, ranks 0 and 1.
class LinkPairTest : public LinkTest {
 protected:
  void SetUp() override;

  std::vector<spi::Wire*> both() { return {wire_[0].get(), wire_[1].get()}; }
  // One message from rank `from` to the other, checked.
  void Exchange(int from, uint64_t tag, size_t bytes);

  std::unique_ptr<spi::Wire> wire_[2];
  std::unique_ptr<spi::Link> link_[2];  // link_[0] leads from rank 0 to rank 1
};

}  // namespace phalanx::conformance

#endif  // PHALANX_TESTS_CONFORMANCE_LINK_SUPPORT_H_
