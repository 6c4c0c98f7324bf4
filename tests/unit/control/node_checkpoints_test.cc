// The node's part of checkpoints, with the coordinator and a worker played by the test.
#include "node_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <asio/executor_work_guard.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint_digest/digest.h"
#include "checkpoint_files/manifest.h"
#include "checkpoint_files/shard.h"

namespace phalanx::control {
namespace {

using checkpoint::LoadResult;
using checkpoint::Source;
using checkpoint::VersionName;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kLongest = std::chrono::minutes(1);
constexpr uint64_t kWorker = 7;
constexpr char kBytes[] = "abcdefgh";
constexpr uint64_t kLength = 8;
constexpr uint64_t kPlenty = 1'000'000;
const VersionName kName{5, 1};

class NodeCheckpointsTest : public testing::Test {
 protected:
  NodeCheckpointsTest() {
    std::string name = testing::TempDir() + "/node_checkpoints.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    node_ = std::make_unique<NodeCheckpoints>(
        context_,
        NodeCheckpoints::Handlers{
            .to_worker =
                [this](uint64_t, const checkpoint::Message& message, std::vector<SharedFd> fds) {
                  to_worker_.push_back(message);
                  if (std::holds_alternative<checkpoint::Rooms>(message)) rooms_ = std::move(fds);
                },
            .to_coordinator =
                [this](const checkpoint::Message& message) { to_coordinator_.push_back(message); },
            .available_memory = [this] { return available_memory_; }},
        PersistSettings{.folder = folder_, .every = 1, .keep = 2}, "job", Logger());
    const absl::Status opened =
        node_->Open({.job = "job", .key = *DeriveKey("a secret of sixteen bytes")});
    EXPECT_TRUE(opened.ok()) << opened;
    node_->BeginView(Epoch{1}, {{0, kWorker}}, 1);
    FromWorker(checkpoint::DescribeState{{{"all", kLength}}});
    FromWorker(checkpoint::OpenRooms{kLength});
  }
  ~NodeCheckpointsTest() override {
    node_.reset();
    std::filesystem::remove_all(folder_);
  }

  void FromWorker(const checkpoint::Message& message) {
    EXPECT_TRUE(node_->FromWorker(kWorker, checkpoint::Encode(message)).ok());
  }
  // Of another worker, with so many bytes of state. How many rooms it was given.
  uint32_t OpenRooms(uint64_t worker, uint64_t bytes) {
    for (const checkpoint::Message& message :
         {checkpoint::Message(checkpoint::DescribeState{{{"all", bytes}}}),
          checkpoint::Message(checkpoint::OpenRooms{bytes})}) {
      EXPECT_TRUE(node_->FromWorker(worker, checkpoint::Encode(message)).ok());
    }
    return Of<checkpoint::Rooms>(to_worker_).back().count;
  }
  void FromCoordinator(const checkpoint::Message& message) {
    EXPECT_TRUE(node_->FromCoordinator(checkpoint::Encode(message)).ok());
  }
  template <typename Kind>
  static std::vector<Kind> Of(const std::vector<checkpoint::Message>& messages) {
    std::vector<Kind> found;
    for (const checkpoint::Message& message : messages) {
      if (const auto* kind = std::get_if<Kind>(&message)) found.push_back(*kind);
    }
    return found;
  }
  template <typename Kind>
  Kind Await(const std::vector<checkpoint::Message>& messages) {
    context_.restart();
    const auto guard = asio::make_work_guard(context_);
    while (Of<Kind>(messages).empty() && context_.run_one_for(kLongest) > 0) {
    }
    const std::vector<Kind> found = Of<Kind>(messages);
    EXPECT_FALSE(found.empty());
    return found.empty() ? Kind{} : found.back();
  }

  // The rank's copy is here, and its version is committed.
  void Save() {
    FromCoordinator(checkpoint::Ask{{1, 1}});
    FromCoordinator(checkpoint::Orders{{1, 1}, 1, {}, {kName}, kName.version});
    FromWorker(checkpoint::Reached{kName.version});
    const auto room = static_cast<size_t>(Await<checkpoint::Verdict>(to_worker_).room);
    ASSERT_LT(room, rooms_.size());
    ASSERT_EQ(pwrite(rooms_[room]->get(), kBytes, kLength, 0), static_cast<ssize_t>(kLength));
    FromWorker(checkpoint::Taken{kName.version});
    EXPECT_EQ(Await<checkpoint::Stored>(to_coordinator_).shard.digest, Digest());
    FromCoordinator(checkpoint::Orders{{1, 1}, 2, {kName}, {}, kName.version});
  }
  // The same version in files.
  void WriteFiles() {
    const checkpoint::VersionPlace place{folder_, "job", kName};
    const auto record =
        checkpoint::WriteShard(place, 0, 1, {{{"all", std::nullopt, {}, kLength}, kBytes}});
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE(checkpoint::WriteManifest(place, {1, {*record}}).ok());
    FromCoordinator(checkpoint::Tier{{{kName, "job", 1, 1}}, ""});
  }
  // The worker is told to load it from there, and says that it isn't what it should be.
  checkpoint::FetchEnded LoadCorrupt(const Source& source) {
    to_coordinator_.clear();
    FromWorker(checkpoint::AwaitsState{});
    FromCoordinator(checkpoint::Fetch{0, kName, source, Digest(), 3});
    EXPECT_EQ(Await<checkpoint::Load>(to_worker_).name, kName);
    FromWorker(checkpoint::Loaded{3, LoadResult::kCorrupt});
    const auto ended = Await<checkpoint::FetchEnded>(to_coordinator_);
    EXPECT_EQ(ended.source, source);
    return ended;
  }
  size_t CopiesHeld() {
    to_coordinator_.clear();
    FromCoordinator(checkpoint::Ask{{1, 2}});
    return Await<checkpoint::Inventory>(to_coordinator_).items.size();
  }
  static checkpoint::Digest Digest() { return checkpoint::DigestOf(kBytes, kLength); }

  std::string folder_;
  asio::io_context context_;
  uint64_t available_memory_ = kPlenty;
  std::vector<SharedFd> rooms_;
  std::vector<checkpoint::Message> to_worker_;
  std::vector<checkpoint::Message> to_coordinator_;
  std::unique_ptr<NodeCheckpoints> node_;
};

TEST_F(NodeCheckpointsTest, ACopyThatTheWorkerFindsCorruptIsSaidAndGone) {
  Save();
  EXPECT_EQ(LoadCorrupt({Source::Kind::kLocal, 1}).result, LoadResult::kCorrupt);
  EXPECT_THAT(Of<checkpoint::CopyIsBad>(to_coordinator_), SizeIs(1));
  EXPECT_EQ(CopiesHeld(), 0u);
}

TEST_F(NodeCheckpointsTest, ACorruptFileIsNoFaultOfTheCopyInMemory) {
  Save();
  WriteFiles();
  EXPECT_EQ(LoadCorrupt({Source::Kind::kPersistent, 0}).result, LoadResult::kCorrupt);
  EXPECT_THAT(Of<checkpoint::CopyIsBad>(to_coordinator_), IsEmpty());
  EXPECT_EQ(CopiesHeld(), 1u);
}

// What came from another agent had the right digest then.
TEST_F(NodeCheckpointsTest, ACopyOfAnothersThatGoesBadHereIsNoFaultOfTheOthers) {
  Save();
  EXPECT_EQ(LoadCorrupt({Source::Kind::kReplica, 2}).result, LoadResult::kNoAnswer);
  EXPECT_THAT(Of<checkpoint::CopyIsBad>(to_coordinator_), SizeIs(1));
  EXPECT_EQ(CopiesHeld(), 0u);
}

TEST_F(NodeCheckpointsTest, AFlippedBitMakesAnotherDigest) {
  Save();
  FromCoordinator(checkpoint::Fetch{0, kName, {Source::Kind::kLocal, 1}, Digest(), 1});
  node_->FlipBit(1);  // another rank's
  char bytes[kLength] = {};
  const auto read = [&] {
    for (const SharedFd& room : rooms_) {
      if (pread(room->get(), bytes, kLength, 0) == static_cast<ssize_t>(kLength) && bytes[0] != 0) {
        return std::string(bytes, kLength);
      }
    }
    return std::string();
  };
  EXPECT_EQ(read(), "abcdefgh");
  node_->FlipBit(0);
  EXPECT_EQ(read(), "abcddfgh");
}

// Three rooms each, since there are files; rooms count in whole pages once they are written to.
TEST_F(NodeCheckpointsTest, MemoryThatOthersWerePromisedIsNotPromisedAgain) {
  constexpr uint64_t kState = 64 << 10;
  node_->BeginView(Epoch{2}, {{0, kWorker}, {1, 8}, {2, 9}, {3, 10}}, 1);
  available_memory_ = 3 * kLength + 6 * kState;
  EXPECT_EQ(OpenRooms(8, kState), 3u);
  const std::vector<SharedFd> first = rooms_;
  EXPECT_EQ(OpenRooms(9, kState + 1), 0u);
  EXPECT_EQ(OpenRooms(10, kState), 3u);
  EXPECT_EQ(OpenRooms(9, 1), 0u);
  // What was taken is no promise any more; that it isn't available either, the machine says.
  const std::string bytes(kState, 'x');
  ASSERT_EQ(pwrite(first[0]->get(), bytes.data(), kState, 0), static_cast<ssize_t>(kState));
  EXPECT_EQ(OpenRooms(9, kState / 3), 3u);
}

TEST_F(NodeCheckpointsTest, CopiesOfOtherNodesRanksNeedMemoryToo) {
  node_->BeginView(Epoch{2}, {{0, kWorker}, {1, 8}}, 3);
  available_memory_ = 3 * kLength + (3 + 2 * 2) * kLength - 1;
  EXPECT_EQ(OpenRooms(8, kLength), 0u);
  ++available_memory_;
  EXPECT_EQ(OpenRooms(8, kLength), 3u);
}

}  // namespace
}  // namespace phalanx::control
