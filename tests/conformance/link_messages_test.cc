// Messages between two healthy wires of one process.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "link_support.h"

namespace phalanx::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<size_t> Sizes() {
  std::vector<size_t> sizes = {0,     1,     7,     8,     1024,    8191,     8192,     8193,
                               16383, 16384, 16385, 65536, 1000003, 1u << 20, 5u << 20, 64u << 20};
  if (LargeTestsWanted()) sizes.push_back(size_t{1} << 30);
  return sizes;
}

size_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool AllDone(const std::deque<Message>& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [](const Message& message) { return message.transfer.done(); });
}

class LinkMessages : public LinkPairTest {
 protected:
  // Sends `count` messages of `bytes` from one buffer while nobody receives, and checks that the
  // receiver keeps few of them. Then receives them, the last first.
  void RunAhead(int count, size_t bytes, size_t most_resident);
};

TEST_F(LinkMessages, ReceivePostedFirst) {
  for (const size_t bytes : Sizes()) {
    SCOPED_TRACE(bytes);
    Message received(bytes);
    link_[1]->Receive(bytes, received.span(), &received.transfer);
    DriveFor(both(), milliseconds(2));
    EXPECT_FALSE(received.transfer.done());
    Message sent(bytes, bytes);
    link_[0]->Send(bytes, sent.span(), &sent.transfer);
    ASSERT_TRUE(Drive(both(), [&] { return sent.transfer.done() && received.transfer.done(); }));
    ASSERT_TRUE(sent.transfer.status().ok()) << sent.transfer.status();
    ASSERT_TRUE(received.transfer.status().ok()) << received.transfer.status();
    ASSERT_TRUE(HasPattern(received.span(), bytes));
  }
}

TEST_F(LinkMessages, SendPostedFirst) {
  for (const size_t bytes : Sizes()) {
    SCOPED_TRACE(bytes);
    Message sent(bytes, bytes);
    link_[1]->Send(bytes, sent.span(), &sent.transfer);
    DriveFor(both(), milliseconds(5));  // unexpected at the receiver by now
    Message received(bytes);
    link_[0]->Receive(bytes, received.span(), &received.transfer);
    ASSERT_TRUE(Drive(both(), [&] { return sent.transfer.done() && received.transfer.done(); }));
    ASSERT_TRUE(sent.transfer.status().ok()) << sent.transfer.status();
    ASSERT_TRUE(received.transfer.status().ok()) << received.transfer.status();
    ASSERT_TRUE(HasPattern(received.span(), bytes));
  }
}

TEST_F(LinkMessages, AllBitsOfATagCount) {
  const std::vector<uint64_t> tags = {
      0, 1, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} >> 1};
  std::deque<Message> sent;
  std::deque<Message> received;
  for (const uint64_t tag : tags) {
    sent.emplace_back(100, tag);
    link_[0]->Send(tag, sent.back().span(), &sent.back().transfer);
  }
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
    received.emplace_back(100);
    link_[1]->Receive(*tag, received.back().span(), &received.back().transfer);
  }
  ASSERT_TRUE(Drive(both(), [&] { return AllDone(sent) && AllDone(received); }));
  for (size_t i = 0; i < tags.size(); ++i) {
    EXPECT_TRUE(received[i].transfer.status().ok()) << received[i].transfer.status();
    EXPECT_TRUE(HasPattern(received[i].span(), tags[tags.size() - 1 - i]));
  }
}

TEST_F(LinkMessages, BothDirectionsUseOneTag) {
  for (const size_t bytes : {size_t{10}, size_t{1} << 20}) {
    std::deque<Message> sent;
    std::deque<Message> received;
    for (int rank = 0; rank < 2; ++rank) {
      sent.emplace_back(bytes, static_cast<uint64_t>(rank));
      received.emplace_back(bytes);
      link_[rank]->Send(5, sent.back().span(), &sent.back().transfer);
      link_[rank]->Receive(5, received.back().span(), &received.back().transfer);
    }
    ASSERT_TRUE(Drive(both(), [&] { return AllDone(sent) && AllDone(received); }));
    EXPECT_TRUE(HasPattern(received[0].span(), 1));
    EXPECT_TRUE(HasPattern(received[1].span(), 0));
  }
}

TEST_F(LinkMessages, TransfersAreReusable) {
  Message sent(64, uint64_t{3});
  Message received(64);
  for (int round = 0; round < 100; ++round) {
    FillPattern(sent.span(), static_cast<uint64_t>(round));
    link_[0]->Send(9, sent.span(), &sent.transfer);
    link_[1]->Receive(9, received.span(), &received.transfer);
    ASSERT_TRUE(Drive(both(), [&] { return sent.transfer.done() && received.transfer.done(); }));
    ASSERT_TRUE(HasPattern(received.span(), static_cast<uint64_t>(round)));
    sent.transfer.Reset();
    received.transfer.Reset();
  }
}

TEST_F(LinkMessages, ListenersAreSignalledOncePerTransfer) {
  CountingListener listener;
  std::deque<Message> messages;
  for (int i = 0; i < 20; ++i) {
    const size_t bytes = i % 2 == 0 ? 100 : 200'000;
    Message& sent = messages.emplace_back(bytes, &listener);
    Message& received = messages.emplace_back(bytes, &listener);
    link_[0]->Send(static_cast<uint64_t>(i), sent.span(), &sent.transfer);
    link_[1]->Receive(static_cast<uint64_t>(i), received.span(), &received.transfer);
  }
  ASSERT_TRUE(Drive(both(), [&] { return AllDone(messages); }));
  EXPECT_EQ(listener.count(), 40);
}

// Thousands of messages of random sizes in both directions, sends and receives in random order.
TEST_F(LinkMessages, ManyInFlight) {
  std::mt19937_64 random(TestSeed());
  constexpr int kMessages = 3000;
  struct Action {
    int direction;  // rank of the sender
    bool send;
    uint64_t tag;
  };
  std::vector<size_t> sizes;
  std::vector<Action> actions;
  for (int i = 0; i < kMessages; ++i) {
    const uint64_t kind = random() % 100;
    sizes.push_back(kind < 2    ? random() % (2u << 20)
                    : kind < 40 ? random() % 40'000
                                : random() % 300);
    for (int direction = 0; direction < 2; ++direction) {
      actions.push_back({direction, true, static_cast<uint64_t>(i)});
      actions.push_back({direction, false, static_cast<uint64_t>(i)});
    }
  }
  std::shuffle(actions.begin(), actions.end(), random);
  std::deque<Message> sent;
  std::deque<Message> received;
  std::vector<uint64_t> received_seeds;
  for (const Action& action : actions) {
    const uint64_t seed = action.tag * 2 + static_cast<uint64_t>(action.direction);
    const size_t bytes = sizes[action.tag];
    if (action.send) {
      Message& message = sent.emplace_back(bytes, seed);
      link_[action.direction]->Send(action.tag, message.span(), &message.transfer);
    } else {
      Message& message = received.emplace_back(bytes);
      received_seeds.push_back(seed);
      link_[1 - action.direction]->Receive(action.tag, message.span(), &message.transfer);
    }
    if (random() % 8 == 0) wire_[random() % 2]->Progress();
  }
  ASSERT_TRUE(Drive(both(), [&] { return AllDone(sent) && AllDone(received); }));
  for (const Message& message : sent) ASSERT_TRUE(message.transfer.status().ok());
  for (size_t i = 0; i < received.size(); ++i) {
    ASSERT_TRUE(received[i].transfer.status().ok()) << received[i].transfer.status();
    ASSERT_TRUE(HasPattern(received[i].span(), received_seeds[i])) << i;
  }
}

void LinkMessages::RunAhead(int count, size_t bytes, size_t most_resident) {
  Exchange(0, 1'000'000, bytes);  // connected, and its caches warm
  Message source(bytes, uint64_t{77});
  std::deque<spi::Transfer> sends;
  const size_t before = ResidentBytes();
  for (int i = 0; i < count; ++i) {
    link_[0]->Send(static_cast<uint64_t>(i), source.span(), &sends.emplace_back());
  }
  DriveFor(both(), milliseconds(500));
  const size_t after = ResidentBytes();
  EXPECT_LT(after, before + most_resident);
  size_t finished = 0;
  for (const spi::Transfer& send : sends) finished += send.done() ? 1 : 0;
  EXPECT_LT(finished * bytes, most_resident);

  Message received(bytes);
  for (int i = count - 1; i >= 0; --i) {
    FillPattern(received.span(), 0);
    link_[1]->Receive(static_cast<uint64_t>(i), received.span(), &received.transfer);
    ASSERT_TRUE(Drive(both(), [&] { return received.transfer.done(); })) << i;
    ASSERT_TRUE(received.transfer.status().ok()) << received.transfer.status();
    if (i % 16 == 0) {
      ASSERT_TRUE(HasPattern(received.span(), 77));
    }
    received.transfer.Reset();
  }
  ASSERT_TRUE(Drive(both(), [&] {
    return std::all_of(sends.begin(), sends.end(), [](const auto& send) { return send.done(); });
  }));
  for (const spi::Transfer& send : sends) ASSERT_TRUE(send.status().ok()) << send.status();
}

TEST_F(LinkMessages, SenderFarAheadWithSmallMessages) { RunAhead(20'000, 4096, 24u << 20); }

TEST_F(LinkMessages, SenderFarAheadWithLargeMessages) { RunAhead(100, 1u << 20, 24u << 20); }

TEST_F(LinkMessages, ManyWiresInAMesh) {
  constexpr int kRanks = 5;
  std::vector<std::unique_ptr<spi::Wire>> wires;
  std::vector<spi::Wire*> all;
  for (int rank = 0; rank < kRanks; ++rank) {
    wires.push_back(OpenWire());
    if (wires.back() == nullptr) return;
    wires.back()->SetIdentity(IdentityOf(rank));
    all.push_back(wires.back().get());
  }
  std::vector<std::unique_ptr<spi::Link>> links;
  std::deque<Message> sent;
  std::deque<Message> received;
  std::vector<uint64_t> seeds;
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (from == to) continue;
      auto link = wires[static_cast<size_t>(from)]->Connect(
          PeerOf(IdentityOf(to)), wires[static_cast<size_t>(to)]->address());
      ASSERT_TRUE(link.ok()) << link.status();
      links.push_back(std::move(*link));
      for (const size_t bytes : {size_t{50}, size_t{300'000}}) {
        Message& message = sent.emplace_back(bytes, static_cast<uint64_t>(from * 10 + to));
        links.back()->Send(bytes, message.span(), &message.transfer);
        received.emplace_back(bytes);
        seeds.push_back(static_cast<uint64_t>(to * 10 + from));
        links.back()->Receive(bytes, received.back().span(), &received.back().transfer);
      }
    }
  }
  ASSERT_TRUE(Drive(all, [&] { return AllDone(sent) && AllDone(received); }));
  for (size_t i = 0; i < received.size(); ++i) {
    ASSERT_TRUE(received[i].transfer.status().ok()) << received[i].transfer.status();
    EXPECT_TRUE(HasPattern(received[i].span(), seeds[i]));
  }
  links.clear();
}

// A message whose check isn't the receive's is refused, whichever came first, and writes nothing.
TEST_F(LinkMessages, AnotherCheckIsRefused) {
  for (const bool receive_first : {false, true}) {
    for (const size_t bytes : {size_t{8}, size_t{4000}, size_t{2} << 20}) {
      for (auto& link : link_) link.reset();
      for (auto& wire : wire_) wire.reset();
      SetUp();
      if (link_[0] == nullptr) return;
      Exchange(0, 1, 100);
      Message sent(bytes, 5);
      Message received(bytes);
      const std::vector<std::byte> before = received.buffer;
      const spi::MessageTag tag{2, 9};
      const auto send = [&] { link_[0]->Send({tag, 17}, sent.span(), &sent.transfer); };
      if (!receive_first) {
        send();
        DriveFor(both(), std::chrono::milliseconds(5));
      }
      link_[1]->Receive({tag, 18}, received.span(), &received.transfer);
      if (receive_first) send();
      ASSERT_TRUE(Drive(both(), [&] { return received.transfer.done() && sent.transfer.done(); }));
      const absl::Status& status = received.transfer.status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  testing::HasSubstr("rank 0's part belongs to another operation"));
      EXPECT_EQ(received.buffer, before);
      // Both ends are dead.
      Message later(8);
      link_[0]->Receive(3, later.span(), &later.transfer);
      ASSERT_TRUE(Drive(both(), [&] { return later.transfer.done(); }));
      EXPECT_FALSE(later.transfer.status().ok());
    }
  }
}

// Numbers of different spaces are different tags.
TEST_F(LinkMessages, SpacesAreApart) {
  std::deque<Message> sent;
  std::deque<Message> received;
  for (const uint64_t space : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    sent.emplace_back(100, space);
    link_[0]->Send({spi::MessageTag{7, space}, 0}, sent.back().span(), &sent.back().transfer);
  }
  for (const uint64_t space : {~uint64_t{0}, uint64_t{0}, uint64_t{1}}) {
    Message& message = received.emplace_back(100);
    link_[1]->Receive({spi::MessageTag{7, space}, 0}, message.span(), &message.transfer);
    ASSERT_TRUE(Drive(both(), [&] { return message.transfer.done(); }));
    EXPECT_TRUE(HasPattern(message.span(), space));
  }
  ASSERT_TRUE(Drive(both(), [&] {
    return std::all_of(sent.begin(), sent.end(),
                       [](const Message& message) { return message.transfer.done(); });
  }));
}

}  // namespace
}  // namespace phalanx::conformance
