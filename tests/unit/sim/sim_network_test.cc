// What the simulated network adds to the contracts: it finds violations, and it repeats itself.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/network.h"

namespace phalanx::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two connected ranks, with a group of both.
class Pair {
 public:
  explicit Pair(const Options& options = Options()) : network(options) {
    std::vector<std::string> prepared;
    for (int rank = 0; rank < 2; ++rank) {
      wires[rank] = network.OpenWire();
      spi::Identity identity;
      identity.rank = rank;
      wires[rank]->SetIdentity(identity);
      domains[rank] = network.OpenDomain();
      EXPECT_TRUE(domains[rank]->Attach(rank, {}).ok());
      prepared.push_back(*domains[rank]->PrepareGroup(2));
    }
    for (int rank = 0; rank < 2; ++rank) {
      links[rank] = *wires[rank]->Connect({1 - rank, {}}, wires[1 - rank]->address());
      groups[rank] = *domains[rank]->OpenGroup(CommunicatorId{0}, {0, 1}, prepared, false);
    }
  }

  // Lets everything happen that is on its way.
  void Settle() {
    do {
      for (auto& wire : wires) wire->Progress();
    } while (network.Step());
    for (auto& wire : wires) wire->Progress();
  }

  // Both begin an operation on their own memory, and rank 0 publishes it.
  void BeginAndPublish(std::vector<std::byte>* memory) {
    spi::GroupOperation operation;
    operation.sequence = 1;
    operation.input = memory->data();
    operation.input_bytes = memory->size();
    for (auto& group : groups) EXPECT_TRUE(group->Begin(operation).ok());
    spi::Publish publish;
    publish.bytes = memory->size();
    publish.acknowledged = 1;
    while (!groups[0]->TryPublish(publish)) continue;
  }

  Network network;
  std::unique_ptr<spi::Wire> wires[2];
  std::unique_ptr<spi::GroupDomain> domains[2];
  std::unique_ptr<spi::Link> links[2];
  std::unique_ptr<spi::GroupTransport> groups[2];
};

TEST(SimNetwork, FindsAReadBeforeTheSignal) {
  Pair pair;
  std::vector<std::byte> memory(8), read(8);
  pair.BeginAndPublish(&memory);
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 0, 8, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("before the signal was seen")));
  EXPECT_NE(read, memory);
}

TEST(SimNetwork, FindsAReadOutsideOfWhatIsPublished) {
  Pair pair;
  std::vector<std::byte> memory(8), read(8);
  pair.BeginAndPublish(&memory);
  pair.Settle();
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 0, 8, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), IsEmpty());
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 4, 8, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("isn't published")));
}

TEST(SimNetwork, FindsPublishedMemoryThatChanges) {
  Pair pair;
  std::vector<std::byte> memory(8), read(8);
  pair.BeginAndPublish(&memory);
  memory[3] = std::byte{1};
  pair.Settle();
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 0, 3, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), IsEmpty());
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 2, 4, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("changed while published")));
}

TEST(SimNetwork, FindsReadsAfterTheAcknowledgementAndTheEnd) {
  Pair pair;
  std::vector<std::byte> memory(8), read(8);
  pair.BeginAndPublish(&memory);
  pair.Settle();
  EXPECT_TRUE(pair.groups[0]->End().ok());
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 0, 8, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("after the owner's end")));
  pair.groups[1]->Raise(1, 0);
  EXPECT_TRUE(pair.groups[1]->ReadInto(0, Region::kInput, 0, 8, 0, read.data()).ok());
  EXPECT_THAT(pair.network.violations()[1], HasSubstr("after the acknowledgement"));
}

TEST(SimNetwork, FindsASendBufferThatChanges) {
  Pair pair;
  std::vector<std::byte> sent(8), received(8);
  spi::Transfer send, receive;
  pair.links[0]->Send(7, sent, &send);
  sent[0] = std::byte{1};
  pair.links[1]->Receive(7, absl::MakeSpan(received), &receive);
  pair.Settle();
  EXPECT_TRUE(receive.done());
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("changed a send buffer")));
}

TEST(SimNetwork, FindsAReceiveBufferThatIsWritten) {
  Pair pair;
  std::vector<std::byte> sent(8), received(8);
  spi::Transfer send, receive;
  pair.links[1]->Receive(7, absl::MakeSpan(received), &receive);
  received[0] = std::byte{1};
  pair.links[0]->Send(7, sent, &send);
  pair.Settle();
  EXPECT_THAT(pair.network.violations(), ElementsAre(HasSubstr("a posted receive")));
}

TEST(SimNetwork, MessagesOvertakeEachOtherAndRunsRepeatThemselves) {
  const auto order = [](uint64_t seed) {
    Options options;
    options.seed = seed;
    Pair pair(options);
    std::vector<std::byte> bytes(16);
    spi::Transfer sends[16], receives[16];
    for (size_t i = 0; i < 16; ++i) {
      pair.links[0]->Send(i, absl::MakeSpan(bytes).subspan(i, 1), &sends[i]);
      pair.links[1]->Receive(i, absl::Span<std::byte>(), &receives[i]);
    }
    // Lengths differ, so each receive ends its link; the first to arrive is told first.
    std::string first;
    while (pair.network.Step()) {
      pair.wires[0]->Progress();
      pair.wires[1]->Progress();
      for (size_t i = 0; i < 16 && first.empty(); ++i) {
        if (receives[i].done()) first = std::to_string(i) + receives[i].status().ToString();
      }
    }
    return first + std::to_string(pair.network.now().count());
  };
  EXPECT_EQ(order(5), order(5));
  EXPECT_NE(order(5), order(6));
}

TEST(SimNetwork, ASenderThatRunsAheadIsHeldBack) {
  Options options;
  options.unexpected_bytes = 10;
  Pair pair(options);
  std::vector<std::byte> bytes(8), received(8);
  spi::Transfer first, second, receive;
  pair.links[0]->Send(1, bytes, &first);
  pair.Settle();
  pair.links[0]->Send(2, bytes, &second);
  pair.Settle();
  EXPECT_TRUE(first.done());
  EXPECT_FALSE(second.done());
  pair.links[1]->Receive(2, absl::MakeSpan(received), &receive);
  pair.Settle();
  EXPECT_TRUE(second.done());
  EXPECT_TRUE(receive.status().ok());
}

TEST(SimNetwork, AKilledRankIsToldToItsPeers) {
  Pair pair;
  std::vector<std::byte> bytes(8);
  spi::Transfer receive, later;
  pair.Settle();
  pair.links[1]->Receive(1, absl::MakeSpan(bytes), &receive);
  const auto killed = pair.network.now();
  pair.network.Kill(0);
  pair.Settle();
  ASSERT_TRUE(receive.done());
  EXPECT_EQ(receive.status(), absl::UnavailableError("rank 0 is gone"));
  EXPECT_GE(pair.network.now() - killed, Options().detection);
  pair.links[1]->Send(2, bytes, &later);
  pair.Settle();
  EXPECT_EQ(later.status(), absl::UnavailableError("rank 0 is gone"));
}

TEST(SimNetwork, AnotherIncarnationIsRefused) {
  Network network({});
  std::unique_ptr<spi::Wire> wires[2] = {network.OpenWire(), network.OpenWire()};
  for (int rank = 0; rank < 2; ++rank) {
    spi::Identity identity;
    identity.rank = rank;
    identity.incarnation.value = 10 + static_cast<uint64_t>(rank);
    wires[rank]->SetIdentity(identity);
  }
  auto link = *wires[0]->Connect({1, Incarnation{99}}, wires[1]->address());
  auto back = *wires[1]->Connect({0, Incarnation{10}}, wires[0]->address());
  std::vector<std::byte> bytes(8);
  spi::Transfer send, receive;
  link->Send(1, bytes, &send);
  back->Receive(1, absl::MakeSpan(bytes), &receive);
  while (network.Step()) continue;
  for (auto& wire : wires) wire->Progress();
  EXPECT_EQ(send.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(receive.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SimNetwork, AbortEndsWhatIsInFlight) {
  Pair pair;
  std::vector<std::byte> bytes(8);
  spi::Transfer receive, later;
  pair.links[0]->Receive(1, absl::MakeSpan(bytes), &receive);
  pair.wires[0]->Abort(absl::AbortedError("the view changed"));
  EXPECT_EQ(receive.status(), absl::AbortedError("the view changed"));
  pair.links[0]->Receive(2, absl::MakeSpan(bytes), &later);
  pair.wires[0]->Progress();
  EXPECT_EQ(later.status(), absl::AbortedError("the view changed"));
}

}  // namespace
}  // namespace phalanx::sim
