// A peer that is killed, frozen, or ends.
#include <chrono>
#include <memory>
#include <string>

#include "link_puppet.h"
#include "link_support.h"

namespace phalanx::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kLarge = 64u << 20;

class LinkProcesses : public LinkTest {
 protected:
  void SetUp() override {
    LinkTest::SetUp();
    if (!fixture_->across_processes()) GTEST_SKIP() << "this wire stays within its process";
    wire_ = OpenWire();  // first: it may skip the test
    if (wire_ == nullptr) return;
    wire_->SetIdentity(IdentityOf(0));
    puppet_ = std::make_unique<Puppet>();
  }

  void Connect() {
    auto link = wire_->Connect(PeerOf(IdentityOf(1)), puppet_->address());
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = std::move(*link);
    puppet_->Connect(wire_->address());
    puppet_->Send(1, 100);
    Message greeting(100);
    link_->Receive(1, greeting.span(), &greeting.transfer);
    ASSERT_TRUE(DriveUntilDone(greeting));
    ASSERT_TRUE(greeting.transfer.status().ok()) << greeting.transfer.status();
    ASSERT_TRUE(HasPattern(greeting.span(), 1));
  }

  bool DriveUntilDone(const Message& message, Clock::duration limit = seconds(30)) {
    return Drive(
        {wire_.get()}, [&] { return message.transfer.done(); }, limit);
  }

  // The message must end within a second from now, and name the lost rank.
  void ExpectLost(const Message& message) {
    ASSERT_TRUE(DriveUntilDone(message, seconds(1)));
    EXPECT_TRUE(absl::IsUnavailable(message.transfer.status())) << message.transfer.status();
    EXPECT_NE(message.transfer.status().message().find("rank 1"), absl::string_view::npos)
        << message.transfer.status();
  }

  void ExpectDead() {
    Message later(100);
    link_->Send(1000, later.span(), &later.transfer);
    ASSERT_TRUE(later.transfer.done());
    EXPECT_TRUE(absl::IsUnavailable(later.transfer.status())) << later.transfer.status();
  }

  std::unique_ptr<spi::Wire> wire_;
  std::unique_ptr<spi::Link> link_;
  std::unique_ptr<Puppet> puppet_;
};

TEST_F(LinkProcesses, MessagesCross) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (const size_t bytes : {size_t{0}, size_t{5000}, kLarge}) {
    puppet_->Receive(bytes + 10, bytes);
    puppet_->Send(bytes + 11, bytes);
    Message sent(bytes, uint64_t{1});
    Message received(bytes);
    link_->Send(bytes + 10, sent.span(), &sent.transfer);
    link_->Receive(bytes + 11, received.span(), &received.transfer);
    ASSERT_TRUE(DriveUntilDone(sent) && DriveUntilDone(received));
    EXPECT_TRUE(sent.transfer.status().ok());
    EXPECT_TRUE(received.transfer.status().ok());
    EXPECT_TRUE(HasPattern(received.span(), bytes + 11));
  }
}

TEST_F(LinkProcesses, KilledWhileIdle) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  Message pending(100);
  link_->Receive(50, pending.span(), &pending.transfer);
  DriveFor({wire_.get()}, milliseconds(50));
  puppet_->Kill();
  ExpectLost(pending);
  ExpectDead();
}

TEST_F(LinkProcesses, KilledWhileItsPeerSleeps) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  CountingListener listener;
  Message pending(100, &listener);
  link_->Receive(50, pending.span(), &pending.transfer);
  {
    Driver driver(wire_.get());
    puppet_->Kill();
    EXPECT_TRUE(listener.WaitFor(1, seconds(1)));
  }
  ExpectLost(pending);
}

TEST_F(LinkProcesses, KilledDuringLargeSend) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  puppet_->Receive(2, kLarge);
  puppet_->Freeze();  // so that the send can't come to its end
  Message sent(kLarge, uint64_t{2});
  Message small(100, uint64_t{3});
  link_->Send(2, sent.span(), &sent.transfer);
  link_->Send(3, small.span(), &small.transfer);
  DriveFor({wire_.get()}, milliseconds(50));
  EXPECT_FALSE(sent.transfer.done());
  puppet_->Kill();
  ExpectLost(sent);
  ExpectDead();
}

TEST_F(LinkProcesses, KilledWhileALargeMessageFlows) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  Message received(kLarge);
  link_->Receive(2, received.span(), &received.transfer);
  puppet_->Send(2, kLarge);
  ASSERT_TRUE(Drive({wire_.get()}, [&] { return received.buffer[kLarge / 8] != std::byte{0}; }));
  puppet_->Kill();
  ASSERT_TRUE(DriveUntilDone(received, seconds(1)));
  if (received.transfer.status().ok()) {
    EXPECT_TRUE(HasPattern(received.span(), 2));  // it was quicker than the signal
  } else {
    EXPECT_TRUE(absl::IsUnavailable(received.transfer.status())) << received.transfer.status();
  }
}

TEST_F(LinkProcesses, KilledBeforeItConnects) {
  auto link = wire_->Connect(PeerOf(IdentityOf(1)), puppet_->address());
  ASSERT_TRUE(link.ok()) << link.status();
  link_ = std::move(*link);
  Message sent(100, uint64_t{1});
  Message received(100);
  link_->Send(1, sent.span(), &sent.transfer);
  link_->Receive(1, received.span(), &received.transfer);
  DriveFor({wire_.get()}, milliseconds(50));
  puppet_->Kill();
  ExpectLost(received);
  ExpectLost(sent);
}

TEST_F(LinkProcesses, KilledBeforeWeConnect) {
  puppet_->Kill();
  auto link = wire_->Connect(PeerOf(IdentityOf(1)), puppet_->address());
  if (!link.ok()) {
    EXPECT_TRUE(absl::IsUnavailable(link.status())) << link.status();
    return;
  }
  Message received(100);
  (*link)->Receive(1, received.span(), &received.transfer);
  ExpectLost(received);
}

TEST_F(LinkProcesses, ExitWithoutCloseIsALoss) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  Message pending(100);
  link_->Receive(50, pending.span(), &pending.transfer);
  puppet_->Exit();
  ExpectLost(pending);
}

TEST_F(LinkProcesses, CloseIsNoLossOfWhatWasDelivered) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  puppet_->Send(2, 5000);
  {
    Driver driver(wire_.get());
    puppet_->Close();
  }
  puppet_->Kill();
  DriveFor({wire_.get()}, milliseconds(100));
  Message received(5000);
  link_->Receive(2, received.span(), &received.transfer);
  ASSERT_TRUE(DriveUntilDone(received));
  EXPECT_TRUE(received.transfer.status().ok()) << received.transfer.status();
  EXPECT_TRUE(HasPattern(received.span(), 2));
}

TEST_F(LinkProcesses, AbortIsBoundedWhileThePeerIsFrozen) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  puppet_->Receive(2, kLarge);
  puppet_->Send(3, kLarge);
  Message received(kLarge);
  Message sent(kLarge, uint64_t{2});
  Message pending(100);
  link_->Receive(3, received.span(), &received.transfer);
  ASSERT_TRUE(Drive({wire_.get()}, [&] {
    return received.transfer.done() || received.buffer[kLarge / 8] != std::byte{0};
  }));
  puppet_->Freeze();
  link_->Send(2, sent.span(), &sent.transfer);
  link_->Receive(4, pending.span(), &pending.transfer);
  DriveFor({wire_.get()}, milliseconds(50));
  const Clock::time_point begin = Clock::now();
  wire_->Abort(absl::AbortedError("the view has changed"));
  EXPECT_LT(Clock::now() - begin, seconds(1));
  ASSERT_TRUE(sent.transfer.done() && received.transfer.done() && pending.transfer.done());
  EXPECT_TRUE(absl::IsAborted(sent.transfer.status())) << sent.transfer.status();
  EXPECT_TRUE(absl::IsAborted(pending.transfer.status())) << pending.transfer.status();
}

}  // namespace
}  // namespace phalanx::conformance
