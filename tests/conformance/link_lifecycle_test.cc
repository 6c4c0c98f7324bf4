// Handshake, late peers, refused lengths, abort, close.
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "link_support.h"

namespace phalanx::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LinkHandshake : public LinkTest {
 protected:
  // Rank 0 and 1 connect, each with its own idea of both; a message each way.
  void ExpectRefused(const spi::Identity& self0, const spi::PeerIdentity& peer0,
                     const spi::Identity& self1, const spi::PeerIdentity& peer1);
};

void LinkHandshake::ExpectRefused(const spi::Identity& self0, const spi::PeerIdentity& peer0,
                                  const spi::Identity& self1, const spi::PeerIdentity& peer1) {
  std::unique_ptr<spi::Wire> wire[2] = {OpenWire(), OpenWire()};
  if (wire[0] == nullptr || wire[1] == nullptr) return;
  wire[0]->SetIdentity(self0);
  wire[1]->SetIdentity(self1);
  absl::StatusOr<std::unique_ptr<spi::Link>> link[2] = {
      wire[0]->Connect(peer0, wire[1]->address()), wire[1]->Connect(peer1, wire[0]->address())};
  ASSERT_TRUE(link[0].ok() && link[1].ok());
  std::deque<Message> sent;
  std::deque<Message> received;
  for (int rank = 0; rank < 2; ++rank) {
    for (const size_t bytes : {size_t{100}, size_t{1} << 20}) {
      sent.emplace_back(bytes, uint64_t{1});
      (*link[rank])->Send(bytes, sent.back().span(), &sent.back().transfer);
      received.emplace_back(bytes);
      (*link[rank])->Receive(bytes, received.back().span(), &received.back().transfer);
    }
  }
  const auto refused = [](const Message& message) {
    return message.transfer.done() && absl::IsFailedPrecondition(message.transfer.status());
  };
  EXPECT_TRUE(Drive(
      {wire[0].get(), wire[1].get()},
      [&] { return std::any_of(received.begin(), received.end(), refused); }, seconds(10)));
  DriveFor({wire[0].get(), wire[1].get()}, milliseconds(50));
  for (const Message& message : received) {
    EXPECT_FALSE(message.transfer.done() && message.transfer.status().ok());
    EXPECT_EQ(message.buffer, std::vector<std::byte>(message.buffer.size()));
  }
  for (const auto& one : wire) one->Abort(absl::AbortedError("end of the test"));
  for (const Message& message : sent) EXPECT_TRUE(message.transfer.done());
  for (const Message& message : received) EXPECT_TRUE(message.transfer.done());
}

TEST_F(LinkHandshake, WrongJobTokenIsRefused) {
  spi::Identity stranger = IdentityOf(1);
  stranger.job_token += 1;
  ExpectRefused(IdentityOf(0), PeerOf(IdentityOf(1)), stranger, PeerOf(IdentityOf(0)));
}

TEST_F(LinkHandshake, WrongEpochIsRefused) {
  spi::Identity old = IdentityOf(1);
  old.epoch.value -= 1;
  ExpectRefused(IdentityOf(0), PeerOf(IdentityOf(1)), old, PeerOf(IdentityOf(0)));
}

TEST_F(LinkHandshake, WrongIncarnationIsRefused) {
  spi::Identity restarted = IdentityOf(1);
  restarted.incarnation.value += 1;
  ExpectRefused(IdentityOf(0), PeerOf(IdentityOf(1)), restarted, PeerOf(IdentityOf(0)));
}

TEST_F(LinkHandshake, WrongExpectationIsRefused) {
  spi::PeerIdentity former = PeerOf(IdentityOf(0));
  former.incarnation.value -= 1;
  ExpectRefused(IdentityOf(0), PeerOf(IdentityOf(1)), IdentityOf(1), former);
}

TEST_F(LinkHandshake, WrongRankIsRefused) {
  spi::Identity other = IdentityOf(1);
  other.rank = 2;
  spi::PeerIdentity expected = PeerOf(IdentityOf(1));
  // Rank 0 looks for rank 1 where rank 2 lives, who looks for rank 0 and was told the truth.
  std::unique_ptr<spi::Wire> wire[2] = {OpenWire(), OpenWire()};
  if (wire[0] == nullptr || wire[1] == nullptr) return;
  wire[0]->SetIdentity(IdentityOf(0));
  wire[1]->SetIdentity(other);
  auto link0 = wire[0]->Connect(expected, wire[1]->address());
  auto link1 = wire[1]->Connect(PeerOf(IdentityOf(0)), wire[0]->address());
  ASSERT_TRUE(link0.ok() && link1.ok());
  Message received(10);
  (*link1)->Receive(1, received.span(), &received.transfer);
  ASSERT_TRUE(Drive(
      {wire[0].get(), wire[1].get()}, [&] { return received.transfer.done(); }, seconds(10)));
  EXPECT_TRUE(absl::IsFailedPrecondition(received.transfer.status())) << received.transfer.status();
}

// Rank 0 connects and sends long before rank 1 knows who it is.
TEST_F(LinkHandshake, PeerMayConnectMuchLater) {
  std::unique_ptr<spi::Wire> wire[2] = {OpenWire(), OpenWire()};
  if (wire[0] == nullptr || wire[1] == nullptr) return;
  wire[0]->SetIdentity(IdentityOf(0));
  auto link0 = wire[0]->Connect(PeerOf(IdentityOf(1)), wire[1]->address());
  ASSERT_TRUE(link0.ok());
  std::deque<Message> sent;
  std::deque<Message> received;
  const auto send_some = [&](uint64_t first) {
    for (uint64_t tag = first; tag < first + 50; ++tag) {
      Message& message = sent.emplace_back(tag % 10 == 0 ? 500'000 : tag, tag);
      (*link0)->Send(tag, message.span(), &message.transfer);
    }
  };
  send_some(0);
  DriveFor({wire[0].get(), wire[1].get()}, milliseconds(100));
  wire[1]->SetIdentity(IdentityOf(1));
  send_some(50);
  DriveFor({wire[0].get(), wire[1].get()}, milliseconds(100));
  auto link1 = wire[1]->Connect(PeerOf(IdentityOf(0)), wire[0]->address());
  ASSERT_TRUE(link1.ok());
  for (uint64_t tag = 0; tag < 100; ++tag) {
    Message& message = received.emplace_back(tag % 10 == 0 ? 500'000 : tag);
    (*link1)->Receive(tag, message.span(), &message.transfer);
  }
  ASSERT_TRUE(Drive({wire[0].get(), wire[1].get()}, [&] {
    return std::all_of(received.begin(), received.end(),
                       [](const Message& message) { return message.transfer.done(); }) &&
           std::all_of(sent.begin(), sent.end(),
                       [](const Message& message) { return message.transfer.done(); });
  }));
  for (uint64_t tag = 0; tag < 100; ++tag) {
    EXPECT_TRUE(received[tag].transfer.status().ok()) << received[tag].transfer.status();
    EXPECT_TRUE(HasPattern(received[tag].span(), tag));
  }
}

TEST_F(LinkHandshake, ConnectNeedsAnIdentityAndAnotherRank) {
  std::unique_ptr<spi::Wire> wire = OpenWire();
  if (wire == nullptr) return;
  const std::string address = wire->address();
  EXPECT_FALSE(wire->Connect(PeerOf(IdentityOf(1)), address).ok());
  wire->SetIdentity(IdentityOf(0));
  EXPECT_FALSE(wire->Connect(PeerOf(IdentityOf(0)), address).ok());
}

class LinkRefusal : public LinkPairTest {
 protected:
  void ExpectRefused(size_t sent_bytes, size_t expected_bytes, bool receive_first);
};

void LinkRefusal::ExpectRefused(size_t sent_bytes, size_t expected_bytes, bool receive_first) {
  Message sent(sent_bytes, uint64_t{1});
  Message received(expected_bytes + 4096);  // with room behind, to see an overrun
  const auto post = [&] {
    link_[1]->Receive(1, received.span().subspan(0, expected_bytes), &received.transfer);
  };
  if (receive_first) post();
  link_[0]->Send(1, sent.span(), &sent.transfer);
  DriveFor(both(), milliseconds(20));
  if (!receive_first) post();
  ASSERT_TRUE(Drive(
      both(), [&] { return received.transfer.done() && sent.transfer.done(); }, seconds(10)));
  EXPECT_TRUE(absl::IsInvalidArgument(received.transfer.status())) << received.transfer.status();
  for (size_t i = expected_bytes; i < received.buffer.size(); ++i) {
    ASSERT_EQ(received.buffer[i], std::byte{0});
  }
  Message later(8);
  link_[1]->Receive(2, later.span(), &later.transfer);
  ASSERT_TRUE(later.transfer.done());
  EXPECT_TRUE(absl::IsInvalidArgument(later.transfer.status())) << later.transfer.status();
}

TEST_F(LinkRefusal, ShortMessage) { ExpectRefused(10, 20, true); }
TEST_F(LinkRefusal, ShortUnexpectedMessage) { ExpectRefused(10, 20, false); }
TEST_F(LinkRefusal, LongMessage) { ExpectRefused(20, 10, true); }
TEST_F(LinkRefusal, EmptyMessage) { ExpectRefused(0, 10, true); }
TEST_F(LinkRefusal, LongUnexpectedMessage) { ExpectRefused(20, 10, false); }
TEST_F(LinkRefusal, ShortBulkMessage) { ExpectRefused(1 << 20, 2 << 20, true); }
TEST_F(LinkRefusal, LongBulkMessage) { ExpectRefused(2 << 20, 1 << 20, true); }
TEST_F(LinkRefusal, LongUnexpectedBulkMessage) { ExpectRefused(2 << 20, 1 << 20, false); }
TEST_F(LinkRefusal, BulkForSmallReceive) { ExpectRefused(2 << 20, 1, true); }

using LinkAbort = LinkPairTest;

TEST_F(LinkAbort, EndsAllInFlightAndLeavesBuffersAlone) {
  Exchange(0, 1, 100);
  std::deque<Message> sent;
  std::deque<Message> received;
  for (uint64_t tag = 0; tag < 40; ++tag) {
    const size_t bytes = tag % 4 == 0 ? 4u << 20 : 1000;
    // Even tags meet a receive, odd ones don't; both sides send.
    for (int rank = 0; rank < 2; ++rank) {
      sent.emplace_back(bytes, tag);
      link_[rank]->Send(tag, sent.back().span(), &sent.back().transfer);
      received.emplace_back(bytes);
      link_[rank]->Receive(tag % 2 == 0 ? tag : tag + 1000, received.back().span(),
                           &received.back().transfer);
    }
  }
  for (int i = 0; i < 20; ++i) {
    for (spi::Wire* wire : both()) wire->Progress();
  }
  const Clock::time_point begin = Clock::now();
  wire_[0]->Abort(absl::AbortedError("the view has changed"));
  EXPECT_LT(Clock::now() - begin, seconds(1));
  std::vector<std::vector<std::byte>> snapshots;
  for (size_t i = 0; i < sent.size(); i += 2) {  // rank 0's
    for (const Message* message : {&sent[i], &received[i]}) {
      ASSERT_TRUE(message->transfer.done());
      EXPECT_TRUE(message->transfer.status().ok() || absl::IsAborted(message->transfer.status()))
          << message->transfer.status();
    }
    FillPattern(received[i].span(), 1234);
  }
  // Rank 1 loses its peer; rank 0's buffers stay as they are.
  ASSERT_TRUE(Drive(
      both(),
      [&] {
        for (size_t i = 1; i < sent.size(); i += 2) {
          if (!sent[i].transfer.done() || !received[i].transfer.done()) return false;
        }
        return true;
      },
      seconds(10)));
  for (size_t i = 0; i < received.size(); i += 2) {
    ASSERT_TRUE(HasPattern(received[i].span(), 1234));
  }
  Message later(8);
  link_[0]->Send(5000, later.span(), &later.transfer);
  ASSERT_TRUE(later.transfer.done());
  EXPECT_TRUE(absl::IsAborted(later.transfer.status()));
  wire_[0]->Abort(absl::InternalError("a second one"));
  later.transfer.Reset();
  link_[0]->Receive(5001, later.span(), &later.transfer);
  ASSERT_TRUE(later.transfer.done());
  EXPECT_TRUE(absl::IsAborted(later.transfer.status()));
}

TEST_F(LinkAbort, WakesAWaitingThread) {
  std::thread waiter([&] { wire_[0]->Wait(seconds(300)); });
  DriveFor({wire_[1].get()}, milliseconds(20));
  wire_[0]->Abort(absl::AbortedError("the view has changed"));
  waiter.join();
}

TEST_F(LinkAbort, BeforeThePeerAnswers) {
  std::unique_ptr<spi::Wire> lonely = OpenWire();
  std::unique_ptr<spi::Wire> silent = OpenWire();
  lonely->SetIdentity(IdentityOf(5));
  auto link = lonely->Connect(PeerOf(IdentityOf(6)), silent->address());
  ASSERT_TRUE(link.ok());
  Message sent(1 << 20);
  Message received(1 << 20);
  (*link)->Send(1, sent.span(), &sent.transfer);
  (*link)->Receive(1, received.span(), &received.transfer);
  DriveFor({lonely.get(), silent.get()}, milliseconds(20));
  lonely->Abort(absl::AbortedError("the view has changed"));
  ASSERT_TRUE(sent.transfer.done() && received.transfer.done());
  EXPECT_TRUE(absl::IsAborted(sent.transfer.status()));
  EXPECT_TRUE(absl::IsAborted(received.transfer.status()));
}

class LinkClose : public LinkPairTest {};

TEST_F(LinkClose, DeliveredMessagesOutliveIt) {
  std::deque<Message> sent;
  for (uint64_t tag = 0; tag < 50; ++tag) {
    sent.emplace_back(tag * 100, tag);
    link_[0]->Send(tag, sent.back().span(), &sent.back().transfer);
  }
  ASSERT_TRUE(Drive(both(), [&] {
    return std::all_of(sent.begin(), sent.end(),
                       [](const Message& message) { return message.transfer.done(); });
  }));
  absl::Status closed;
  {
    Driver driver(wire_[1].get());
    closed = wire_[0]->Close(Deadline::After(seconds(10)));
  }
  EXPECT_TRUE(closed.ok()) << closed;
  link_[0].reset();
  wire_[0].reset();
  DriveFor({wire_[1].get()}, milliseconds(50));
  for (uint64_t tag = 0; tag < 50; ++tag) {
    Message received(tag * 100);
    link_[1]->Receive(tag, received.span(), &received.transfer);
    ASSERT_TRUE(Drive(
        {wire_[1].get()}, [&] { return received.transfer.done(); }, seconds(10)));
    EXPECT_TRUE(received.transfer.status().ok()) << received.transfer.status();
    EXPECT_TRUE(HasPattern(received.span(), tag));
  }
  // What was never sent ends too, and says why.
  Message missing(10);
  link_[1]->Receive(99, missing.span(), &missing.transfer);
  ASSERT_TRUE(Drive(
      {wire_[1].get()}, [&] { return missing.transfer.done(); }, seconds(10)));
  EXPECT_FALSE(missing.transfer.status().ok());
  EXPECT_TRUE(wire_[1]->Close(Deadline::After(seconds(10))).ok());
}

TEST_F(LinkClose, BothAtOnce) {
  Exchange(0, 1, 100);
  absl::Status closed[2];
  std::thread other([&] { closed[1] = wire_[1]->Close(Deadline::After(seconds(10))); });
  closed[0] = wire_[0]->Close(Deadline::After(seconds(10)));
  other.join();
  EXPECT_TRUE(closed[0].ok()) << closed[0];
  EXPECT_TRUE(closed[1].ok()) << closed[1];
  Message late(8);
  link_[0]->Send(1, late.span(), &late.transfer);
  ASSERT_TRUE(late.transfer.done());
  EXPECT_FALSE(late.transfer.status().ok());
}

TEST_F(LinkClose, IsBoundedWhenThePeerIsSilent) {
  Exchange(0, 1, 100);
  const Clock::time_point begin = Clock::now();
  wire_[0]->Close(Deadline::After(milliseconds(100))).IgnoreError();
  EXPECT_LT(Clock::now() - begin, seconds(2));
}

int OpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

class LinkLeaks : public LinkPairTest {
 protected:
  void Round(bool close) {
    for (auto& link : link_) link.reset();  // before the wires that SetUp() replaces
    SetUp();
    if (IsSkipped()) return;
    Exchange(0, 1, 100);
    Exchange(1, 2, 1 << 20);
    if (close) {
      std::thread other([&] { wire_[1]->Close(Deadline::After(seconds(10))).IgnoreError(); });
      EXPECT_TRUE(wire_[0]->Close(Deadline::After(seconds(10))).ok());
      other.join();
    }
    for (auto& link : link_) link.reset();
    for (auto& wire : wire_) wire.reset();
  }
};

TEST_F(LinkLeaks, DescriptorsAreGivenBack) {
  Round(true);  // vendor libraries keep some from the first use on
  const int before = OpenDescriptors();
  for (int i = 0; i < 4; ++i) Round(i % 2 == 0);
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace phalanx::conformance
