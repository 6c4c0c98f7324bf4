#include "group_conformance.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <thread>

#include "gmock/gmock.h"

namespace phalanx::spi {

using std::chrono::milliseconds;

std::vector<std::unique_ptr<GroupTransport>> OpenGroups(GroupCluster& cluster,
                                                        const std::vector<int>& ranks,
                                                        bool oversubscribed) {
  std::vector<std::string> prepared;
  for (int rank : ranks) {
    auto part = cluster.domain(rank).PrepareGroup(static_cast<int>(ranks.size()));
    EXPECT_TRUE(part.ok()) << part.status();
    EXPECT_LE(part->size(), 64u);
    prepared.push_back(*part);
  }
  std::vector<std::unique_ptr<GroupTransport>> groups;
  for (size_t i = 0; i < ranks.size(); ++i) {
    auto group =
        cluster.domain(ranks[i]).OpenGroup(CommunicatorId{7}, ranks, prepared, oversubscribed);
    EXPECT_TRUE(group.ok()) << group.status();
    EXPECT_EQ((*group)->rank(), static_cast<int>(i));
    EXPECT_EQ((*group)->size(), static_cast<int>(ranks.size()));
    groups.push_back(*std::move(group));
  }
  return groups;
}

void RunMembers(const std::vector<std::unique_ptr<GroupTransport>>& groups,
                const std::function<void(GroupTransport&)>& body) {
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&body, &group] { body(*group); });
  for (std::thread& thread : threads) thread.join();
}

bool AwaitSignal(GroupTransport& group, int peer, uint8_t signal, uint32_t round) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (!group.Reached(peer, signal, round)) {
    if (deadline.Passed(Clock::now())) {
      ADD_FAILURE() << "member " << group.rank() << " waits in vain for member " << peer
                    << ", signal " << int{signal} << ", round " << round;
      return false;
    }
    group.Wait(peer, signal, round, milliseconds(1));
  }
  return true;
}

bool AwaitEveryPeer(GroupTransport& group, uint8_t signal, uint32_t round) {
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer != group.rank() && !AwaitSignal(group, peer, signal, round)) return false;
  }
  return true;
}

bool PublishWhenPossible(GroupTransport& group, const Publish& publish) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  while (!group.TryPublish(publish)) {
    if (deadline.Passed(Clock::now())) {
      ADD_FAILURE() << "member " << group.rank() << " can't publish round " << publish.round;
      return false;
    }
    group.WaitToPublish(publish, milliseconds(1));
  }
  return true;
}

void GroupConformance::Connect(int size) {
  groups_.clear();
  cluster_ = GetParam().make(size);
  ASSERT_NE(cluster_, nullptr);
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
  groups_ = OpenGroups(*cluster_, ranks, GetParam().oversubscribed);
}

namespace {

constexpr uint8_t kData = 0;
constexpr uint8_t kDone = 1;
constexpr uint8_t kOther = 2;

// The byte that member `rank` has at `index` in operation `sequence`.
std::byte Pattern(uint64_t sequence, int rank, size_t index, uint32_t salt = 0) {
  uint64_t x = sequence * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(rank) * 0xbf58476d1ce4e5b9 +
               index * 0x94d049bb133111eb + salt;
  x ^= x >> 31;
  return static_cast<std::byte>(x * 0xd6e8feb86659fd93 >> 56);
}

void Fill(std::byte* bytes, size_t count, uint64_t sequence, int rank, uint32_t salt = 0) {
  for (size_t i = 0; i < count; ++i) bytes[i] = Pattern(sequence, rank, i, salt);
}

// Reads a range of a peer and checks every byte, by Read() or ReadInto().
bool CheckRead(GroupTransport& group, int peer, Region region, size_t offset, size_t bytes,
               uint32_t round, uint64_t sequence, uint32_t salt, bool into) {
  std::vector<std::byte> tile(bytes + 1);
  const std::byte* read = tile.data();
  if (into) {
    const absl::Status status = group.ReadInto(peer, region, offset, bytes, round, tile.data());
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return false;
  } else {
    auto place = group.Read(peer, region, offset, bytes, round, tile.data());
    EXPECT_TRUE(place.ok()) << place.status();
    if (!place.ok()) return false;
    read = *place;
  }
  for (size_t i = 0; i < bytes; ++i) {
    if (read[i] == Pattern(sequence, peer, offset + i, salt)) continue;
    ADD_FAILURE() << "member " << group.rank() << " reads a wrong byte " << offset + i
                  << " of member " << peer << ", operation " << sequence << ", round " << round;
    return false;
  }
  return true;
}

// Everybody stages its input and reads everybody else's.
bool StagedExchange(GroupTransport& group, uint64_t sequence, size_t bytes) {
  std::vector<std::byte> input(bytes);
  Fill(input.data(), bytes, sequence, group.rank());
  GroupOperation operation;
  operation.sequence = sequence;
  operation.input = input.data();
  operation.input_bytes = bytes;
  operation.factor_bits = sequence << 8 | static_cast<uint64_t>(group.rank());
  EXPECT_TRUE(group.Begin(operation).ok());
  Publish publish;
  publish.publication = Publication::kStaged;
  publish.bytes = bytes;
  publish.signal = kData;
  bool right = PublishWhenPossible(group, publish);
  std::fill(input.begin(), input.end(), std::byte{0xee});  // staged: ours again at once
  for (int peer = 0; peer < group.size() && right; ++peer) {
    if (peer == group.rank()) continue;
    right = AwaitSignal(group, peer, kData, 0) &&
            CheckRead(group, peer, Region::kInput, 0, bytes, 0, sequence, 0, sequence % 2 == 0);
    EXPECT_EQ(group.factor_bits(peer), sequence << 8 | static_cast<uint64_t>(peer));
  }
  EXPECT_TRUE(group.End().ok());
  return right;
}

// Everybody publishes `region` in place, round by round, and everybody reads all of it. `memory`
// is overwritten between the rounds' acknowledgement and the operation's end.
bool InPlaceExchange(GroupTransport& group, uint64_t sequence, Region region, std::byte* memory,
                     size_t bytes, uint32_t rounds) {
  const size_t chunk = (bytes + rounds - 1) / rounds;
  GroupOperation operation;
  operation.sequence = sequence;
  operation.rounds = rounds;
  if (region == Region::kInput) {
    operation.input = memory;
    operation.input_bytes = bytes;
  } else if (region == Region::kOutput) {
    operation.output = memory;
    operation.output_bytes = bytes;
  } else {
    operation.scratch_bytes = bytes;
  }
  EXPECT_TRUE(group.Begin(operation).ok());
  if (region == Region::kScratch) memory = group.scratch();
  if (region == Region::kInput) Fill(memory, bytes, sequence, group.rank());
  bool right = true;
  for (uint32_t round = 0; round < rounds && right; ++round) {
    const size_t offset = std::min(bytes, round * chunk);
    const size_t count = std::min(chunk, bytes - offset);
    if (region != Region::kInput) {
      for (size_t i = 0; i < count; ++i) {
        memory[offset + i] = Pattern(sequence, group.rank(), offset + i);
      }
    }
    Publish publish;
    publish.region = region;
    publish.offset = offset;
    publish.bytes = count;
    publish.round = round;
    publish.signal = kData;
    publish.acknowledged = kDone;
    right = PublishWhenPossible(group, publish);
    for (int peer = 0; peer < group.size() && right; ++peer) {
      if (peer == group.rank()) continue;
      right = AwaitSignal(group, peer, kData, round) &&
              CheckRead(group, peer, region, offset, count, round, sequence, 0, round % 2 == 0);
    }
    group.Raise(kDone, round);
  }
  right = right && AwaitEveryPeer(group, kDone, rounds - 1);
  for (size_t i = 0; i < bytes; ++i) memory[i] = std::byte{0xdd};
  EXPECT_TRUE(group.End().ok());
  return right;
}

TEST_P(GroupConformance, StagedPublicationsReachEveryMember) {
  for (int size : {1, 2, 3, 5}) {
    Connect(size);
    RunMembers(groups_, [](GroupTransport& group) {
      uint64_t sequence = 0;
      for (size_t bytes : {size_t{0}, size_t{1}, size_t{8}, size_t{1000}, kMaxStagedBytes}) {
        for (int i = 0; i < 40; ++i) {
          if (!StagedExchange(group, sequence++, bytes)) return;
        }
      }
    });
  }
}

TEST_P(GroupConformance, EachRegionIsReadInPlaceFromPrivateMemory) {
  Connect(3);
  RunMembers(groups_, [](GroupTransport& group) {
    uint64_t sequence = 0;
    for (Region region : {Region::kInput, Region::kOutput, Region::kScratch}) {
      for (uint32_t rounds : {1u, 2u, 5u, 23u}) {
        for (size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{300'001}}) {
          std::vector<std::byte> memory(bytes + 1);
          if (!InPlaceExchange(group, sequence++, region, memory.data(), bytes, rounds)) return;
        }
      }
    }
  });
}

TEST_P(GroupConformance, AllocatedMemoryIsReadInPlace) {
  Connect(2);
  RunMembers(groups_, [this](GroupTransport& group) {
    GroupDomain& domain = cluster_->domain(group.rank());
    constexpr size_t kBytes = 500'000;
    auto memory = domain.Allocate(kBytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    auto* const bytes = static_cast<std::byte*>(*memory);
    uint64_t sequence = 0;
    for (Region region : {Region::kInput, Region::kOutput}) {
      for (uint32_t rounds : {1u, 4u, 17u}) {
        if (!InPlaceExchange(group, sequence++, region, bytes, kBytes, rounds)) return;
        // From the middle of a buffer.
        if (!InPlaceExchange(group, sequence++, region, bytes + 4097, 100'000, rounds)) return;
      }
    }
    domain.Free(*memory);
  });
}

// The round's chunk of every member's block, as reduce-scatter publishes it.
TEST_P(GroupConformance, StridedPublications) {
  Connect(3);
  for (Publication publication : {Publication::kInPlace, Publication::kStaged}) {
    RunMembers(groups_, [publication](GroupTransport& group) {
      const uint64_t sequence = publication == Publication::kStaged ? 1 : 0;
      constexpr size_t kBlock = 1000, kChunk = 400, kBlocks = 3;
      constexpr size_t kBytes = kBlock * (kBlocks - 1) + 650;  // the last block is cut off
      std::vector<std::byte> output(kBytes);
      Fill(output.data(), kBytes, sequence, group.rank());
      GroupOperation operation;
      operation.sequence = sequence;
      operation.rounds = 3;
      operation.output = output.data();
      operation.output_bytes = kBytes;
      ASSERT_TRUE(group.Begin(operation).ok());
      for (uint32_t round = 0; round < 3; ++round) {
        const size_t first = round * kChunk;
        const size_t chunk = std::min(kChunk, kBlock - first);
        Publish publish{publication, Region::kOutput, first, chunk, kBlocks,
                        kBlock,      round,           kData, kDone};
        if (!PublishWhenPossible(group, publish) || !AwaitEveryPeer(group, kData, round)) return;
        for (int peer = 0; peer < group.size(); ++peer) {
          if (peer == group.rank()) continue;
          for (size_t block = 0; block < kBlocks; ++block) {
            const size_t offset = block * kBlock + first;
            const size_t bytes = std::min(chunk, kBytes - std::min(kBytes, offset));
            CheckRead(group, peer, Region::kOutput, offset, bytes, round, sequence, 0, false);
            if (bytes < 3) continue;  // a part of a range
            CheckRead(group, peer, Region::kOutput, offset + 1, bytes - 2, round, sequence, 0,
                      true);
          }
        }
        group.Raise(kDone, round);
      }
      AwaitEveryPeer(group, kDone, 2);
      EXPECT_TRUE(group.End().ok());
    });
  }
}

TEST_P(GroupConformance, SignalsCoverEarlierRoundsAndNoOthers) {
  Connect(2);
  GroupTransport& a = *groups_[0];
  GroupTransport& b = *groups_[1];
  for (uint64_t sequence = 0; sequence < 100; ++sequence) {
    GroupOperation operation;
    operation.sequence = sequence;
    operation.rounds = 5;
    ASSERT_TRUE(a.Begin(operation).ok());
    ASSERT_TRUE(b.Begin(operation).ok());
    EXPECT_FALSE(b.Reached(0, kData, 0));
    a.Raise(kData, 2);
    EXPECT_TRUE(b.Reached(0, kData, 0));
    EXPECT_TRUE(b.Reached(0, kData, 2));
    EXPECT_FALSE(b.Reached(0, kData, 3));
    EXPECT_FALSE(b.Reached(0, kOther, 0));
    EXPECT_FALSE(a.Reached(1, kData, 0));
    a.Raise(kData, 4);
    EXPECT_TRUE(b.Reached(0, kData, 4));
    EXPECT_TRUE(a.End().ok());
    EXPECT_TRUE(b.End().ok());
  }
}

// A member that only writes runs ahead of one that only reads; the transport holds it back.
TEST_P(GroupConformance, AStagingMemberCannotOverrunItsReaders) {
  Connect(3);
  RunMembers(groups_, [](GroupTransport& group) {
    std::mt19937 random(static_cast<uint32_t>(group.rank()));
    for (uint64_t sequence = 0; sequence < 500; ++sequence) {
      std::vector<std::byte> input(64);
      Fill(input.data(), input.size(), sequence, group.rank());
      GroupOperation operation;
      operation.sequence = sequence;
      operation.input = input.data();
      operation.input_bytes = input.size();
      ASSERT_TRUE(group.Begin(operation).ok());
      if (group.rank() == 0) {
        Publish publish;
        publish.publication = Publication::kStaged;
        publish.bytes = input.size();
        if (!PublishWhenPossible(group, publish)) return;
      } else {
        if (!AwaitSignal(group, 0, 0, 0)) return;
        if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        if (!CheckRead(group, 0, Region::kInput, 0, input.size(), 0, sequence, 0, false)) return;
      }
      EXPECT_TRUE(group.End().ok());
    }
  });
}

// Random operations, sizes, memories and delays, the same on all members but for the delays.
TEST_P(GroupConformance, ThousandsOfMixedOperations) {
  const char* const given = std::getenv("PHALANX_TEST_SEED");
  const uint32_t seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                         : std::random_device()();
  std::cout << "PHALANX_TEST_SEED=" << seed << std::endl;
  for (int size : {2, 4}) {
    Connect(size);
    RunMembers(groups_, [this, seed](GroupTransport& group) {
      std::mt19937 shared(seed);
      std::mt19937 own(seed + 1 + static_cast<uint32_t>(group.rank()));
      GroupDomain& domain = cluster_->domain(group.rank());
      constexpr size_t kMost = 40'000;
      auto allocated = domain.Allocate(kMost);
      ASSERT_TRUE(allocated.ok()) << allocated.status();
      std::vector<std::byte> ordinary(kMost);
      bool right = true;
      for (uint64_t sequence = 0; sequence < 1500 && right; ++sequence) {
        const uint32_t kind = shared() % 4;
        const size_t bytes = shared() % (shared() % 8 == 0 ? kMost : 2000);
        const uint32_t rounds = 1 + shared() % (shared() % 4 == 0 ? 30 : 3);
        if (own() % 32 == 0) std::this_thread::yield();
        if (own() % 256 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        // Which memory it has is a member's own affair.
        std::byte* const memory =
            own() % 2 == 0 ? static_cast<std::byte*>(*allocated) : ordinary.data();
        if (kind == 3) {
          right = StagedExchange(group, sequence, std::min(bytes, kMaxStagedBytes));
        } else {
          right =
              InPlaceExchange(group, sequence, static_cast<Region>(kind), memory, bytes, rounds);
        }
      }
      domain.Free(*allocated);
    });
    if (HasFailure()) return;
  }
}

TEST_P(GroupConformance, WaitEndsWhenThePeerSignals) {
  Connect(2);
  RunMembers(groups_, [](GroupTransport& group) {
    for (uint64_t sequence = 0; sequence < 50; ++sequence) {
      GroupOperation operation;
      operation.sequence = sequence;
      ASSERT_TRUE(group.Begin(operation).ok());
      if (group.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        group.Raise(kData, 0);
        ASSERT_TRUE(AwaitSignal(group, 1, kData, 0));
      } else {
        ASSERT_TRUE(AwaitSignal(group, 0, kData, 0));
        group.Raise(kData, 0);
      }
      EXPECT_TRUE(group.End().ok());
    }
  });
}

TEST_P(GroupConformance, WaitIsBounded) {
  Connect(2);
  GroupTransport& group = *groups_[0];
  ASSERT_TRUE(group.Begin(GroupOperation()).ok());
  const Clock::time_point start = Clock::now();
  group.Wait(1, kData, 0, std::chrono::hours(1));
  group.Wait(1, kData, 0, std::chrono::microseconds(-5));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(group.End().ok());
}

TEST_P(GroupConformance, AbortEndsWaitingForGood) {
  Connect(2);
  GroupTransport& group = *groups_[0];
  ASSERT_TRUE(group.Begin(GroupOperation()).ok());
  std::atomic<bool> aborted{false};
  std::thread waiter([&] {
    while (!aborted.load()) group.Wait(1, kData, 0, milliseconds(1));
  });
  std::this_thread::sleep_for(milliseconds(5));
  aborted.store(true);
  group.Abort();
  waiter.join();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 5000; ++i) group.Wait(1, kData, 0, milliseconds(1));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));  // not a millisecond each
  EXPECT_TRUE(group.End().ok());
}

TEST_P(GroupConformance, AResultReadFromWithdrawnMemoryDoesntCount) {
  for (const Publication publication : {Publication::kInPlace, Publication::kStaged}) {
    Connect(3);
    auto input = cluster_->domain(0).Allocate(1000);
    ASSERT_TRUE(input.ok()) << input.status();
    auto* const bytes = static_cast<std::byte*>(*input);
    Fill(bytes, 1000, 0, 0);
    GroupOperation operation;
    operation.input = bytes;
    operation.input_bytes = 1000;
    ASSERT_TRUE(groups_[0]->Begin(operation).ok());
    Publish publish;
    publish.publication = publication;
    publish.bytes = 1000;
    publish.signal = kData;
    publish.acknowledged = kDone;
    ASSERT_TRUE(PublishWhenPossible(*groups_[0], publish));
    for (const int reader : {1, 2}) {
      ASSERT_TRUE(groups_[reader]->Begin(GroupOperation()).ok());
      ASSERT_TRUE(AwaitSignal(*groups_[reader], 0, kData, 0));
    }
    // One reads before, one after the owner has given up; who can tell which?
    EXPECT_TRUE(CheckRead(*groups_[1], 0, Region::kInput, 0, 1000, 0, 0, 0, true));
    groups_[0]->Withdraw();
    std::vector<std::byte> read(1000);
    EXPECT_TRUE(groups_[2]->ReadInto(0, Region::kInput, 0, 1000, 0, read.data()).ok());
    for (const int reader : {1, 2}) {
      const absl::Status ended = groups_[reader]->End();
      EXPECT_EQ(ended.code(), publication == Publication::kInPlace ? absl::StatusCode::kAborted
                                                                   : absl::StatusCode::kOk)
          << ended;
    }
    cluster_->domain(0).Free(*input);
  }
}

TEST_P(GroupConformance, AllocatedMemoryIsAlignedAndZeroed) {
  Connect(1);
  GroupDomain& domain = cluster_->domain(0);
  for (int i = 0; i < 20; ++i) {
    const size_t bytes = 1000 + static_cast<size_t>(i) * 5000;
    auto memory = domain.Allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
    const auto* const begin = static_cast<const std::byte*>(*memory);
    EXPECT_TRUE(std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::memset(*memory, 0xff, bytes);
    domain.Free(*memory);
  }
  auto nothing = domain.Allocate(0);
  ASSERT_TRUE(nothing.ok());
  domain.Free(*nothing);
}

TEST_P(GroupConformance, ExhaustionTakesNothing) {
  Connect(2);
  GroupDomain& domain = cluster_->domain(0);
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 50}) {
    EXPECT_EQ(domain.Allocate(bytes).status().code(), absl::StatusCode::kResourceExhausted);
  }
  GroupOperation operation;
  operation.scratch_bytes = size_t{1} << 50;
  EXPECT_EQ(groups_[0]->Begin(operation).code(), absl::StatusCode::kResourceExhausted);
  // Nothing has begun, nothing is lost.
  auto memory = domain.Allocate(1 << 20);
  ASSERT_TRUE(memory.ok()) << memory.status();
  domain.Free(*memory);
  RunMembers(groups_, [](GroupTransport& group) {
    for (uint64_t sequence = 0; sequence < 20; ++sequence) StagedExchange(group, sequence, 100);
  });
}

TEST_P(GroupConformance, GroupsAreApart) {
  Connect(4);
  auto even = OpenGroups(*cluster_, {0, 2}, GetParam().oversubscribed);
  auto reversed = OpenGroups(*cluster_, {3, 2, 1, 0}, GetParam().oversubscribed);
  std::vector<std::thread> threads;
  for (auto* groups : {&groups_, &even, &reversed}) {
    threads.emplace_back([groups] {
      RunMembers(*groups, [](GroupTransport& group) {
        for (uint64_t sequence = 0; sequence < 200; ++sequence) {
          if (!StagedExchange(group, sequence, 256)) return;
        }
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A member leaves as soon as its own last operation has ended, and its memory serves other groups
// while slower members are still reading.
TEST_P(GroupConformance, GroupsComeAndGo) {
  Connect(3);
  for (int i = 0; i < 100; ++i) {
    auto groups = OpenGroups(*cluster_, {0, 1, 2}, GetParam().oversubscribed);
    std::vector<std::thread> threads;
    for (auto& group : groups) {
      threads.emplace_back([&group] {
        for (uint64_t sequence = 0; sequence < 3; ++sequence) {
          if (!StagedExchange(*group, sequence, 3000)) return;
        }
        group.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_P(GroupConformance, BadPartsAreRefused) {
  Connect(2);
  auto first = cluster_->domain(0).PrepareGroup(2);
  auto second = cluster_->domain(1).PrepareGroup(2);
  auto of_three = cluster_->domain(1).PrepareGroup(3);
  ASSERT_TRUE(first.ok() && second.ok() && of_three.ok());
  const auto open = [&](const std::vector<int>& ranks, const std::vector<std::string>& parts) {
    return cluster_->domain(0).OpenGroup(CommunicatorId{1}, ranks, parts, false).status().code();
  };
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(open({0, 1}, {*first}), bad);
  EXPECT_EQ(open({0, 1}, {*first, "short"}), bad);
  EXPECT_EQ(open({0, 1}, {*first, *of_three}), bad);
  EXPECT_EQ(open({0, 1}, {*second, *first}), bad);
  EXPECT_EQ(open({0, 5}, {*first, *second}), bad);
  EXPECT_EQ(open({1, 1}, {*second, *second}), bad);
  EXPECT_EQ(open({0, 1}, {*first, *second}), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace phalanx::spi
