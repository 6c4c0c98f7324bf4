// Agents that read each other's shards, over real connections.
#include "peer_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <asio/executor_work_guard.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint_digest/digest.h"
#include "control_process/fd.h"
#include "control_process/listen.h"
#include "send_budget.h"

namespace phalanx::control {
namespace {

using checkpoint::LoadResult;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kLongest = std::chrono::minutes(1);
constexpr size_t kPart = checkpoint::kMostPartBytes;

std::string Bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

checkpoint::Digest DigestOf(const std::string& bytes) {
  return checkpoint::DigestOf(bytes.data(), bytes.size());
}

std::shared_ptr<const SnapshotMemory> Memory(const std::string& bytes) {
  std::unique_ptr<SnapshotMemory> memory = *SnapshotMemory::CreateForUs(bytes.size());
  std::memcpy(memory->data(), bytes.data(), bytes.size());
  return memory;
}

class PeerLinksTest : public testing::Test {
 protected:
  static constexpr char kSecret[] = "a secret of sixteen bytes";

  std::unique_ptr<PeerLinks> Start(const std::string& secret = kSecret, uint64_t rate = 0) {
    absl::StatusOr<std::unique_ptr<PeerLinks>> links =
        PeerLinks::Create(agent_,
                          {.job = "job",
                           .key = *DeriveKey(secret),
                           .most_at_once = 1,
                           .background_bytes_per_second = rate},
                          {.doubt = [this](const ShardKey& key) { doubted_.push_back(key); }},
                          Logger([this](LogSeverity, const std::string& line) { Log(line); }));
    EXPECT_TRUE(links.ok()) << links.status();
    return *std::move(links);
  }
  void Log(const std::string& line) {
    const std::lock_guard lock(mutex_);
    log_ += line + "\n";
  }
  // Runs the agents' thread, which is this one.
  void AwaitUntil(const std::function<bool()>& ready) {
    const auto end = std::chrono::steady_clock::now() + kLongest;
    while (!ready() && std::chrono::steady_clock::now() < end) {
      agent_.run_one_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(ready());
  }
  PullEnd Pull(PeerLinks& links, const Endpoint& from, const checkpoint::Digest& digest) {
    std::optional<PullEnd> end;
    links.Pull(kKey, from, digest, false, [&](PullEnd result) { end = std::move(result); });
    AwaitUntil([&] { return end.has_value(); });
    return end.value_or(PullEnd{});
  }

  const ShardKey kKey{{120, 3}, 2};
  asio::io_context agent_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{agent_.get_executor()};
  std::mutex mutex_;
  std::string log_;
  std::vector<ShardKey> doubted_;
};

TEST_F(PeerLinksTest, AShardOfAnyLengthComesWhole) {
  const auto source = Start();
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  for (const size_t count : {size_t{0}, size_t{1}, kPart - 1, kPart, kPart + 1, 9 * kPart + 7}) {
    const std::string bytes = Bytes(count);
    source->shelf().Put(kKey, Memory(bytes));
    const PullEnd end = Pull(*reader, at, DigestOf(bytes));
    ASSERT_EQ(end.result, LoadResult::kLoaded) << count;
    ASSERT_EQ(end.memory->bytes(), count);
    EXPECT_EQ(std::memcmp(end.memory->data(), bytes.data(), count), 0) << count;
  }
}

TEST_F(PeerLinksTest, WhatDoesNotHaveItsDigestIsCorruptAndItsHolderHearsOfIt) {
  const auto source = Start();
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  std::string bytes = Bytes(3 * kPart);
  const checkpoint::Digest digest = DigestOf(bytes);
  bytes[kPart + 5] ^= 1;
  source->shelf().Put(kKey, Memory(bytes));
  const PullEnd end = Pull(*reader, at, digest);
  EXPECT_EQ(end.result, LoadResult::kCorrupt);
  EXPECT_EQ(end.memory, nullptr);
  AwaitUntil([&] { return !doubted_.empty(); });
  EXPECT_THAT(doubted_, ElementsAre(kKey));
}

TEST_F(PeerLinksTest, WhatIsNotThereIsNoAnswer) {
  const auto source = Start();
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  EXPECT_EQ(Pull(*reader, at, {1, 2}).result, LoadResult::kNoAnswer);
  source->shelf().Put(kKey, Memory("x"));
  source->shelf().Remove(kKey);
  EXPECT_EQ(Pull(*reader, at, {1, 2}).result, LoadResult::kNoAnswer);
}

TEST_F(PeerLinksTest, NobodyThereIsNoAnswer) {
  const auto reader = Start();
  Endpoint nobody;
  {
    const Listener listener = *Listen({"127.0.0.1", 0});
    nobody = listener.endpoint;
  }
  EXPECT_EQ(Pull(*reader, nobody, {1, 2}).result, LoadResult::kNoAnswer);
  EXPECT_THAT(log_, HasSubstr("doesn't give its copy of rank 2"));
}

TEST_F(PeerLinksTest, AProbeTellsWhetherAnAgentAnswers) {
  const auto source = Start();
  const auto asker = Start();
  const auto stranger = Start("another secret of sixteen bytes");
  const auto answers = [&](PeerLinks& who, const Endpoint& peer, Clock::duration wait) {
    std::optional<bool> answered;
    who.Probe(peer, wait, [&](bool result) { answered = result; });
    AwaitUntil([&] { return answered.has_value(); });
    return answered.value_or(false);
  };
  const Endpoint at = *source->Listen("127.0.0.1");
  EXPECT_TRUE(answers(*asker, at, kLongest));
  EXPECT_TRUE(answers(*asker, at, kLongest));
  EXPECT_FALSE(answers(*stranger, at, kLongest));
  // It is reached, as a stopped process is, and says nothing.
  const Listener silent = *Listen({"127.0.0.1", 0});
  EXPECT_FALSE(answers(*asker, silent.endpoint, std::chrono::milliseconds(200)));
}

TEST_F(PeerLinksTest, ThoseWithoutTheKeyGetNothing) {
  const auto source = Start();
  const auto stranger = Start("another secret of sixteen bytes");
  const Endpoint at = *source->Listen("127.0.0.1");
  source->shelf().Put(kKey, Memory("secret"));
  EXPECT_EQ(Pull(*stranger, at, DigestOf("secret")).result, LoadResult::kNoAnswer);
}

TEST_F(PeerLinksTest, APeerThatComesBackIsReachedAgain) {
  const auto reader = Start();
  auto source = Start();
  const std::string bytes = Bytes(100);
  const Endpoint first = *source->Listen("127.0.0.1");
  source->shelf().Put(kKey, Memory(bytes));
  EXPECT_EQ(Pull(*reader, first, DigestOf(bytes)).result, LoadResult::kLoaded);
  source.reset();
  EXPECT_EQ(Pull(*reader, first, DigestOf(bytes)).result, LoadResult::kNoAnswer);
  source = Start();
  const Endpoint second = *source->Listen("127.0.0.1");
  source->shelf().Put(kKey, Memory(bytes));
  EXPECT_EQ(Pull(*reader, second, DigestOf(bytes)).result, LoadResult::kLoaded);
}

// The first one hangs in the handshake until the listener is closed.
TEST_F(PeerLinksTest, UrgentOnesGoFirstAndWaitForNoOthers) {
  const auto source = Start();
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  std::vector<int> order;
  const auto pull = [&](int rank, const Endpoint& from, bool urgent) {
    const ShardKey key{{120, 3}, rank};
    source->shelf().Put(key, Memory("bytes"));
    reader->Pull(key, from, DigestOf("bytes"), urgent,
                 [&order, rank](const PullEnd&) { order.push_back(rank); });
  };
  std::optional<Listener> silent = *Listen({"127.0.0.1", 0});
  pull(0, silent->endpoint, false);
  pull(1, at, false);
  pull(2, at, false);
  pull(3, at, true);
  pull(4, at, false);
  pull(5, at, true);
  reader->Hurry({{120, 3}, 4});
  AwaitUntil([&] { return order.size() == 3; });
  EXPECT_THAT(order, ElementsAre(3, 5, 4));
  silent.reset();
  AwaitUntil([&] { return order.size() == 6; });
  EXPECT_THAT(order, ElementsAre(3, 5, 4, 0, 1, 2));
}

TEST_F(PeerLinksTest, TheBackgroundIsNoFasterThanItsRate) {
  constexpr uint64_t kRate = 8 * kPart;
  const auto source = Start(kSecret, kRate);
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  const std::string bytes = Bytes(4 * kPart + 7);
  source->shelf().Put(kKey, Memory(bytes));
  const auto began = std::chrono::steady_clock::now();
  const PullEnd end = Pull(*reader, at, DigestOf(bytes));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_EQ(end.result, LoadResult::kLoaded);
  EXPECT_EQ(std::memcmp(end.memory->data(), bytes.data(), bytes.size()), 0);
  // The last part may go once the others are paid for.
  const std::chrono::duration<double> catch_up = SendBudget::kCatchUp;
  EXPECT_GE(took.count(), 4.0 * kPart / kRate - catch_up.count());
}

// Its parts would take a day, and one alone longer than silence is borne.
TEST_F(PeerLinksTest, WhatARankWaitsForIsNotLimited) {
  const auto source = Start(kSecret, /*rate=*/100);
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  const std::string bytes = Bytes(9 * kPart + 7);
  std::vector<int> order;
  const auto pull = [&](int rank, bool urgent) {
    const ShardKey key{{120, 3}, rank};
    source->shelf().Put(key, Memory(bytes));
    reader->Pull(key, at, DigestOf(bytes), urgent, [&order, &bytes, rank](const PullEnd& end) {
      EXPECT_EQ(end.result, LoadResult::kLoaded) << rank;
      if (end.memory != nullptr) {
        EXPECT_EQ(std::memcmp(end.memory->data(), bytes.data(), bytes.size()), 0) << rank;
      }
      order.push_back(rank);
    });
  };
  pull(0, false);
  pull(1, true);
  AwaitUntil([&] { return order.size() == 1; });
  // Its first part went when it was asked for, and the next ones wait.
  reader->Hurry({{120, 3}, 0});
  AwaitUntil([&] { return order.size() == 2; });
  EXPECT_THAT(order, ElementsAre(1, 0));
}

TEST_F(PeerLinksTest, WhoeverHoldsPartsBackIsNotTakenForGone) {
  // Each part takes longer than the five seconds after which a silent peer is given up.
  const auto source = Start(kSecret, /*rate=*/kPart / 6);
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  const std::string bytes = Bytes(kPart + 1);
  source->shelf().Put(kKey, Memory(bytes));
  EXPECT_EQ(Pull(*reader, at, DigestOf(bytes)).result, LoadResult::kLoaded);
}

TEST_F(PeerLinksTest, TheEndWaitsForNothing) {
  const auto source = Start();
  auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  const std::string bytes = Bytes(64 * kPart);
  source->shelf().Put(kKey, Memory(bytes));
  const Listener silent = *Listen({"127.0.0.1", 0});
  reader->Pull(kKey, at, DigestOf(bytes), false, [](const PullEnd&) {});
  reader->Pull({{120, 3}, 7}, silent.endpoint, {1, 2}, false, [](const PullEnd&) {});
  reader.reset();
}

TEST_F(PeerLinksTest, NonsenseEndsOnlyItsOwnConnection) {
  const auto source = Start();
  const auto reader = Start();
  const Endpoint at = *source->Listen("127.0.0.1");
  asio::ip::tcp::socket hostile(agent_);
  hostile.connect({asio::ip::make_address(at.host), at.port});
  ::send(hostile.native_handle(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  source->shelf().Put(kKey, Memory("good"));
  EXPECT_EQ(Pull(*reader, at, DigestOf("good")).result, LoadResult::kLoaded);
}

TEST(ReplicaMemoryTest, IsUsedAgainOnceNobodyReadsIt) {
  const auto memory = std::make_shared<ReplicaMemory>();
  std::shared_ptr<SnapshotMemory> kept = *memory->Take(100);
  std::shared_ptr<SnapshotMemory> first = *memory->Take(100);
  const std::byte* const at = first->data();
  const std::shared_ptr<const SnapshotMemory> reader = first;
  first.reset();
  EXPECT_EQ(memory->idle(), 0u);
  EXPECT_NE((*memory->Take(100))->data(), at);
}

TEST(ReplicaMemoryTest, NoMoreIsKeptThanIsInUse) {
  const auto memory = std::make_shared<ReplicaMemory>();
  std::shared_ptr<SnapshotMemory> kept = *memory->Take(100);
  std::shared_ptr<SnapshotMemory> first = *memory->Take(100);
  std::shared_ptr<SnapshotMemory> second = *memory->Take(100);
  const std::byte* const at = second->data();
  first.reset();
  EXPECT_EQ(memory->idle(), 1u);
  second.reset();
  EXPECT_EQ(memory->idle(), 1u);
  std::shared_ptr<SnapshotMemory> again = *memory->Take(100);
  EXPECT_EQ(again->data(), at);
  EXPECT_EQ(memory->idle(), 0u);
  EXPECT_EQ((*memory->Take(50))->bytes(), 50u);
  kept.reset();
  again.reset();
  EXPECT_EQ(memory->idle(), 0u);
}

TEST(ReplicaMemoryTest, WhatItGaveMayOutliveIt) {
  auto memory = std::make_shared<ReplicaMemory>();
  std::shared_ptr<SnapshotMemory> given = *memory->Take(10);
  memory.reset();
  given->data()[9] = std::byte{1};
}

}  // namespace
}  // namespace phalanx::control
