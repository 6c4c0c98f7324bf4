#include "messaging/link_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace phalanx::messaging {
namespace {

constexpr size_t kEagerBytes = 1000;

// Keeps what a core hands over. Frames are copied, transfers of eager ones are done at once.
class FakePeer final : public FabricPeer {
 public:
  struct Frame {
    FrameHeader header;
    std::vector<std::byte> payload;
    spi::Transfer* bulk_transfer = nullptr;
  };
  struct Accepted {
    BulkId bulk;
    absl::Span<std::byte> destination;
    spi::Transfer* transfer;
  };

  void SendEager(const FrameHeader& header, absl::Span<const std::byte> payload,
                 spi::Transfer* transfer) override {
    sent.push_back({header, {payload.begin(), payload.end()}, nullptr});
    if (transfer != nullptr) transfer->Finish(absl::OkStatus());
  }
  void SendBulk(const FrameHeader& header, absl::Span<const std::byte> payload,
                spi::Transfer* transfer) override {
    sent.push_back({header, {payload.begin(), payload.end()}, transfer});
  }
  void AcceptBulk(BulkId bulk, absl::Span<std::byte> destination,
                  spi::Transfer* transfer) override {
    accepted.push_back({bulk, destination, transfer});
  }
  void DropBulk(BulkId bulk) override { dropped.push_back(bulk); }
  void BindSource(SourceId) override {}
  void Break(const absl::Status&) override {}
  bool busy() const override { return false; }

  std::vector<FrameKind> SentKinds() const {
    std::vector<FrameKind> kinds;
    for (const Frame& frame : sent) kinds.push_back(static_cast<FrameKind>(frame.header.kind));
    return kinds;
  }

  std::deque<Frame> sent;
  std::vector<Accepted> accepted;
  std::vector<BulkId> dropped;
};

std::vector<std::byte> Bytes(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class LinkCoreTest : public testing::Test {
 protected:
  LinkCoreTest() : core_(3, &peer_, kEagerBytes) {}
  void Open() {
    core_.SetKey(42);
    core_.Open();
  }

  FakePeer peer_;
  LinkCore core_;
};

TEST_F(LinkCoreTest, SendsWaitForTheHandshake) {
  const std::vector<std::byte> bytes = Bytes("abc");
  spi::Transfer transfer;
  core_.Send(7, bytes, &transfer);
  EXPECT_FALSE(transfer.done());
  EXPECT_TRUE(peer_.sent.empty());
  Open();
  ASSERT_EQ(peer_.SentKinds(), std::vector{FrameKind::kEager});
  EXPECT_EQ(peer_.sent[0].header.key, 42u);
  EXPECT_EQ(peer_.sent[0].header.value, 7u);
  EXPECT_EQ(peer_.sent[0].payload, bytes);
  EXPECT_TRUE(transfer.done());
}

TEST_F(LinkCoreTest, LengthDecidesEagerOrBulk) {
  Open();
  const std::vector<std::byte> bytes(kEagerBytes + 1);
  spi::Transfer small;
  spi::Transfer large;
  core_.Send(1, absl::MakeConstSpan(bytes).first(kEagerBytes), &small);
  core_.Send(2, bytes, &large);
  EXPECT_EQ(peer_.SentKinds(), (std::vector{FrameKind::kEager, FrameKind::kBulk}));
  EXPECT_FALSE(large.done());  // the fabric finishes it
  peer_.sent[1].bulk_transfer->Finish(absl::OkStatus());
}

TEST_F(LinkCoreTest, MatchesEitherOrder) {
  Open();
  const std::vector<std::byte> sent = Bytes("payload");
  std::vector<std::byte> early(7);
  std::vector<std::byte> late(7);
  spi::Transfer early_transfer;
  spi::Transfer late_transfer;
  core_.Receive(1, absl::MakeSpan(early), &early_transfer);
  core_.OnEager(2, sent, true);
  core_.OnEager(1, sent, true);
  EXPECT_TRUE(early_transfer.done() && early_transfer.status().ok());
  EXPECT_EQ(early, sent);
  core_.Receive(2, absl::MakeSpan(late), &late_transfer);
  EXPECT_TRUE(late_transfer.done() && late_transfer.status().ok());
  EXPECT_EQ(late, sent);
}

TEST_F(LinkCoreTest, BulkIsAcceptedWhenBothAreThere) {
  Open();
  std::vector<std::byte> buffer(5000);
  spi::Transfer first;
  spi::Transfer second;
  EXPECT_TRUE(core_.OnBulk(1, 5000, 11, true));
  core_.Receive(1, absl::MakeSpan(buffer), &first);
  core_.Receive(2, absl::MakeSpan(buffer), &second);
  EXPECT_TRUE(core_.OnBulk(2, 5000, 12, true));
  ASSERT_EQ(peer_.accepted.size(), 2u);
  EXPECT_EQ(peer_.accepted[0].bulk, 11u);
  EXPECT_EQ(peer_.accepted[0].destination.data(), buffer.data());
  EXPECT_EQ(peer_.accepted[1].bulk, 12u);
  first.Finish(absl::OkStatus());
  second.Finish(absl::OkStatus());
}

TEST_F(LinkCoreTest, WrongLengthEndsTheLinkAndTellsThePeer) {
  Open();
  std::vector<std::byte> buffer(10);
  spi::Transfer receive;
  spi::Transfer other;
  core_.Receive(1, absl::MakeSpan(buffer), &receive);
  core_.Receive(2, absl::MakeSpan(buffer), &other);
  core_.OnEager(1, std::vector<std::byte>(11, std::byte{1}), true);
  EXPECT_TRUE(absl::IsInvalidArgument(receive.status()));
  EXPECT_TRUE(absl::IsInvalidArgument(other.status()));
  EXPECT_EQ(buffer, std::vector<std::byte>(10));
  EXPECT_EQ(peer_.SentKinds(), std::vector{FrameKind::kRefused});
  spi::Transfer later;
  core_.Send(3, buffer, &later);
  EXPECT_TRUE(absl::IsInvalidArgument(later.status()));
}

TEST_F(LinkCoreTest, FailEndsAllAndDropsWhatNobodyAskedFor) {
  Open();
  std::vector<std::byte> buffer(10);
  spi::Transfer receive;
  core_.Receive(1, absl::MakeSpan(buffer), &receive);
  EXPECT_TRUE(core_.OnBulk(2, 5000, 11, true));
  core_.OnEager(3, buffer, true);
  core_.Fail(absl::UnavailableError("gone"));
  core_.Fail(absl::InternalError("a later reason"));
  EXPECT_TRUE(absl::IsUnavailable(receive.status()));
  EXPECT_EQ(peer_.dropped, std::vector<BulkId>{11});
  EXPECT_FALSE(core_.OnBulk(4, 5000, 12, true));
  EXPECT_TRUE(absl::IsUnavailable(core_.status()));
}

TEST_F(LinkCoreTest, AfterAnOrderlyEndWhatIsHereCanBeReceived) {
  Open();
  const std::vector<std::byte> sent = Bytes("last words");
  std::vector<std::byte> buffer(sent.size());
  spi::Transfer pending;
  core_.Receive(1, absl::MakeSpan(buffer), &pending);
  core_.OnEager(2, sent, true);
  core_.PeerClosed();
  EXPECT_TRUE(absl::IsUnavailable(pending.status()));
  spi::Transfer receive;
  core_.Receive(2, absl::MakeSpan(buffer), &receive);
  EXPECT_TRUE(receive.done() && receive.status().ok());
  EXPECT_EQ(buffer, sent);
  spi::Transfer late;
  core_.Receive(3, absl::MakeSpan(buffer), &late);
  EXPECT_TRUE(absl::IsUnavailable(late.status()));
}

TEST_F(LinkCoreTest, SenderStopsAtItsWindowAndGoesOnWithCredit) {
  Open();
  const std::vector<std::byte> bytes(kEagerBytes);
  const uint64_t cost = LinkCore::kMessageCost + kEagerBytes;
  const uint64_t fits = LinkCore::kWindowBytes / cost;
  std::deque<spi::Transfer> transfers;
  for (uint64_t tag = 0; tag < fits + 2; ++tag) core_.Send(tag, bytes, &transfers.emplace_back());
  ASSERT_EQ(peer_.sent.size(), fits + 1);
  EXPECT_EQ(peer_.SentKinds().back(), FrameKind::kStalled);
  EXPECT_FALSE(transfers[fits].done());
  core_.OnControl(FrameKind::kCredit, {cost});
  EXPECT_TRUE(transfers[fits].done());
  EXPECT_FALSE(transfers[fits + 1].done());
  core_.OnControl(FrameKind::kCredit, {cost});
  EXPECT_TRUE(transfers[fits + 1].done());
  EXPECT_EQ(peer_.SentKinds().back(), FrameKind::kFlowing);
}

TEST_F(LinkCoreTest, WantedMessageGoesWithoutCredit) {
  Open();
  const std::vector<std::byte> bytes(kEagerBytes);
  std::deque<spi::Transfer> transfers;
  const uint64_t fits = LinkCore::kWindowBytes / (LinkCore::kMessageCost + kEagerBytes);
  for (uint64_t tag = 0; tag < fits + 10; ++tag) core_.Send(tag, bytes, &transfers.emplace_back());
  core_.OnControl(FrameKind::kWanted, {fits + 5});
  EXPECT_TRUE(transfers[fits + 5].done());
  EXPECT_EQ(peer_.sent.back().header.value, fits + 5);
  EXPECT_EQ(peer_.sent.back().header.credited, 0);
  // Wanted before it is sent.
  core_.OnControl(FrameKind::kWanted, {9999});
  spi::Transfer later;
  core_.Send(9999, bytes, &later);
  EXPECT_TRUE(later.done());
  core_.Fail(absl::CancelledError("end of the test"));
}

TEST_F(LinkCoreTest, ReceiverNamesItsReceivesToAStalledSender) {
  Open();
  std::vector<std::byte> buffer(10);
  spi::Transfer first;
  spi::Transfer second;
  core_.Receive(1, absl::MakeSpan(buffer), &first);
  EXPECT_TRUE(peer_.sent.empty());
  core_.OnControl(FrameKind::kStalled, {0});
  core_.Receive(2, absl::MakeSpan(buffer), &second);
  EXPECT_EQ(peer_.SentKinds(), (std::vector{FrameKind::kWanted, FrameKind::kWanted}));
  EXPECT_EQ(peer_.sent[1].header.value, 2u);
  core_.Fail(absl::CancelledError("end of the test"));
}

// Two cores joined by queues that deliver in order, at random times: all messages arrive, whatever
// the order of the receives, and the receiver keeps no more than its window.
TEST(LinkCorePair, AnyOrderWithinTheWindow) {
  const char* const chosen = std::getenv("PHALANX_TEST_SEED");
  const uint64_t seed =
      chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device()();
  std::printf("replay with PHALANX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  FakePeer to_receiver;
  FakePeer to_sender;
  LinkCore sender(1, &to_receiver, kEagerBytes);
  LinkCore receiver(0, &to_sender, kEagerBytes);
  sender.Open();
  receiver.Open();
  constexpr size_t kMessages = 4000;
  const std::vector<std::byte> source(kEagerBytes, std::byte{5});
  std::vector<std::byte> destination(kEagerBytes);
  std::deque<spi::Transfer> sends(kMessages);
  std::deque<spi::Transfer> receives(kMessages);
  std::vector<uint64_t> order(kMessages);
  for (size_t i = 0; i < kMessages; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  size_t sent = 0;
  size_t posted = 0;
  size_t arrived = 0;
  const auto deliver = [&](FakePeer& from, LinkCore& to) {
    if (from.sent.empty()) return;
    const FakePeer::Frame frame = std::move(from.sent.front());
    from.sent.pop_front();
    const auto kind = static_cast<FrameKind>(frame.header.kind);
    if (kind == FrameKind::kEager) {
      ++arrived;
      to.OnEager({{frame.header.value, frame.header.space}, frame.header.check}, frame.payload,
                 frame.header.credited != 0);
    } else {
      to.OnControl(kind, {frame.header.value, frame.header.space});
    }
  };
  size_t done = 0;
  while (done < kMessages) {
    const uint64_t what = random() % 6;
    if (what == 0 && sent < kMessages) {
      sender.Send(sent, source, &sends[sent]);
      ++sent;
    } else if (what == 1 && posted < kMessages && posted < done + 3) {  // few receives at a time
      receiver.Receive(order[posted], absl::MakeSpan(destination), &receives[posted]);
      ++posted;
    } else if (what < 4) {
      deliver(to_receiver, receiver);
    } else {
      deliver(to_sender, sender);
    }
    done = 0;
    for (size_t i = posted > 8 ? posted - 8 : 0; i < posted; ++i)
      done += receives[i].done() ? 1 : 0;
    done += posted > 8 ? posted - 8 : 0;
    ASSERT_LE((arrived - done) * kEagerBytes, LinkCore::kWindowBytes + 8 * kEagerBytes);
  }
  for (const spi::Transfer& send : sends) ASSERT_TRUE(send.done() && send.status().ok());
  for (const spi::Transfer& receive : receives) ASSERT_TRUE(receive.done());
}

}  // namespace
}  // namespace phalanx::messaging
