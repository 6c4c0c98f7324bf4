// The node's part of the persistent tier: files, with the coordinator played by the test.
#include "node_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <asio/executor_work_guard.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint_digest/digest.h"

namespace phalanx::control {
namespace {

using checkpoint::Tier;
using checkpoint::VersionName;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kLongest = std::chrono::minutes(1);

class NodeTierTest : public testing::Test {
 protected:
  NodeTierTest() {
    std::string name = testing::TempDir() + "/node_tier.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    Start("job");
  }
  ~NodeTierTest() override {
    tier_.reset();
    std::filesystem::remove_all(folder_);
  }

  // The agent of rank 0 of a job.
  void Start(const std::string& job) {
    tier_.reset();
    const PersistSettings settings{.folder = folder_, .every = 1, .keep = 2};
    tier_ = std::make_unique<NodeTier>(
        context_, settings, job,
        [this](const checkpoint::Message& message) { told_.push_back(message); },
        Logger([this](LogSeverity, const std::string& line) { log_ += line; }));
  }
  template <typename Kind>
  Kind Await() {
    told_.clear();
    AwaitUntil([this] { return !told_.empty(); });
    EXPECT_FALSE(told_.empty());
    if (told_.empty() || !std::holds_alternative<Kind>(told_.front())) {
      ADD_FAILURE() << "another message, or none";
      return {};
    }
    return std::get<Kind>(told_.front());
  }
  void AwaitUntil(const std::function<bool()>& ready) {
    context_.restart();
    const auto guard = asio::make_work_guard(context_);
    while (!ready() && context_.run_one_for(kLongest) > 0) {
    }
  }

  static std::shared_ptr<const SnapshotMemory> Memory(const std::string& bytes) {
    const auto memory = *SnapshotMemory::Create(bytes.size());
    EXPECT_EQ(pwrite(memory->fd()->get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return memory;
  }
  static std::shared_ptr<const StateLayout> Layout() {
    return std::make_shared<StateLayout>(
        StateLayout{{"first", std::nullopt, {}, 3}, {"second", std::nullopt, {}, 5}});
  }
  // Of a world of two; the other rank's file is written here too.
  void Save(const VersionName& name) {
    for (int rank = 0; rank < 2; ++rank) {
      bool done = false;
      tier_->Write({name, 2}, rank, Memory(rank == 0 ? "abcdefgh" : "ABCDEFGH"), Layout(),
                   [&] { done = true; });
      const auto written = Await<checkpoint::ShardWritten>();
      EXPECT_TRUE(done);
      EXPECT_EQ(written.rank, rank);
      EXPECT_EQ(written.digest, checkpoint::DigestOf(rank == 0 ? "abcdefgh" : "ABCDEFGH", 8));
      EXPECT_TRUE(tier_->FromCoordinator(written));
    }
    const auto tier = Await<Tier>();
    EXPECT_EQ(tier.versions.at(0).name, name);
    EXPECT_TRUE(tier_->FromCoordinator(tier));
  }
  absl::StatusOr<std::string> Read(const VersionName& name, int rank,
                                   const checkpoint::Digest& digest = {}) {
    std::optional<absl::StatusOr<NodeTier::Loaded>> result;
    tier_->Read({rank, name, {checkpoint::Source::Kind::kPersistent, 0}, digest, 1}, Layout(),
                [&](absl::StatusOr<NodeTier::Loaded> loaded) { result = std::move(loaded); });
    AwaitUntil([&] { return result.has_value(); });
    if (!result->ok()) return result->status();
    return std::string(reinterpret_cast<const char*>((**result).memory->data()), 8);
  }

  std::string folder_;
  std::string log_;
  asio::io_context context_;
  std::vector<checkpoint::Message> told_;
  std::unique_ptr<NodeTier> tier_;
};

TEST_F(NodeTierTest, WhatOneJobWritesTheNextOneReads) {
  EXPECT_TRUE(tier_->FromCoordinator(checkpoint::AskTier{}));
  EXPECT_THAT(Await<Tier>().versions, IsEmpty());
  Save({5, 1});
  Save({7, 2});
  EXPECT_EQ(*Read({7, 2}, 1), "ABCDEFGH");
  Start("next");
  EXPECT_TRUE(tier_->FromCoordinator(checkpoint::AskTier{}));
  const auto found = Await<Tier>();
  ASSERT_EQ(found.versions.size(), 2u);
  EXPECT_EQ(found.versions[0].name, (VersionName{7, 2}));
  EXPECT_EQ(found.versions[0].job, "job");
  EXPECT_EQ(found.versions[0].ranks, 2);
  EXPECT_TRUE(tier_->FromCoordinator(found));
  EXPECT_EQ(*Read({7, 2}, 0), "abcdefgh");
  EXPECT_EQ(*Read({5, 1}, 1, checkpoint::DigestOf("ABCDEFGH", 8)), "ABCDEFGH");
  // Two of its own, and the earlier job's are gone.
  Save({8, 1});
  Save({9, 1});
  EXPECT_EQ(Read({5, 1}, 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/job"));
  EXPECT_EQ(log_, "");
}

TEST_F(NodeTierTest, ALaterVersionIsLaterWhateverTheClockSays) {
  constexpr int64_t kFuture = int64_t{1} << 50;
  EXPECT_TRUE(tier_->FromCoordinator(Tier{{{{3, 1}, "before", 2, kFuture}}, ""}));
  Save({5, 1});
  EXPECT_TRUE(tier_->FromCoordinator(checkpoint::AskTier{}));
  EXPECT_EQ(Await<Tier>().versions.at(0).committed_unix_ms, kFuture + 1);
}

TEST_F(NodeTierTest, DamageIsSaidWithTheFilesName) {
  Save({5, 1});
  const std::string path = checkpoint::ShardPath({folder_, "job", {5, 1}}, 1, 2);
  EXPECT_EQ(Read({5, 1}, 1, {9, 9}).status().code(), absl::StatusCode::kDataLoss);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  const absl::Status status = Read({5, 1}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_EQ(*Read({5, 1}, 0), "abcdefgh");
  std::filesystem::remove(path);
  EXPECT_TRUE(tier_->FromCoordinator(checkpoint::AskTier{}));
  EXPECT_THAT(Await<Tier>().versions, IsEmpty());
  EXPECT_THAT(log_, HasSubstr(path));
}

TEST_F(NodeTierTest, WhatCannotBeWrittenIsSaidWithTheFilesName) {
  std::filesystem::remove(folder_);
  tier_->Write({{5, 1}, 2}, 1, Memory("abcdefgh"), Layout(), [] {});
  const auto failed = Await<checkpoint::PersistFailed>();
  EXPECT_EQ(failed.rank, 1);
  EXPECT_THAT(failed.problem, HasSubstr(folder_));
  EXPECT_TRUE(tier_->FromCoordinator(checkpoint::AskTier{}));
  EXPECT_THAT(Await<Tier>().problem, HasSubstr(folder_));
}

TEST_F(NodeTierTest, AManifestNeedsTheFilesOfAllRanks) {
  tier_->Write({{5, 1}, 2}, 0, Memory("abcdefgh"), Layout(), [] {});
  const auto written = Await<checkpoint::ShardWritten>();
  tier_->FromCoordinator(written);
  // Another node that has another folder by the same name.
  tier_->FromCoordinator(checkpoint::ShardWritten{{5, 1}, 1, 100, {1, 1}, 3});
  const auto failed = Await<checkpoint::PersistFailed>();
  EXPECT_EQ(failed.rank, -1);
  EXPECT_THAT(failed.problem, HasSubstr("must be the same folder for all ranks"));
}

TEST(FileThreadTest, WorkIsDoneInOrderAndItsResultsOnTheLoop) {
  asio::io_context context;
  std::vector<int> results;
  FileThread files(context);
  for (int i = 0; i < 3; ++i) {
    files.Post([&results, i] { return [&results, i] { results.push_back(i); }; });
  }
  const auto guard = asio::make_work_guard(context);
  while (results.size() < 3 && context.run_one_for(kLongest) > 0) {
  }
  EXPECT_EQ(results, (std::vector<int>{0, 1, 2}));
}

TEST(FileThreadTest, NobodyWaitsLongForAFileSystemThatHangs) {
  asio::io_context context;
  auto hangs = std::make_shared<std::promise<void>>();
  std::promise<void> begun;
  {
    FileThread files(context);
    files.Post([hangs, &begun, wait = hangs->get_future().share()] {
      begun.set_value();
      wait.wait();
      return [] { ADD_FAILURE() << "nobody waits for it any more"; };
    });
    files.Post([]() -> FileThread::Result {
      ADD_FAILURE() << "it hadn't begun";
      return [] {};
    });
    begun.get_future().wait();
  }
  hangs->set_value();
  EXPECT_EQ(context.poll(), 0u);
}

}  // namespace
}  // namespace phalanx::control
