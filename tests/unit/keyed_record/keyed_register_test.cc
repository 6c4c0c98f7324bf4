// The register's shell, on a store in memory.
#include "control_etcd/keyed_register.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace phalanx::control {
namespace {

// One key that several stores, and threads, look at.
struct Shelf {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t revision = 0;  // of the key; 0: none
  int64_t last = 0;
  std::string value;
  bool silent = false;
};

class ShelfStore final : public KeyStore {
 public:
  explicit ShelfStore(std::shared_ptr<Shelf> shelf) : shelf_(std::move(shelf)) {}

  StoreAnswer Perform(const StoreCall& call) override {
    std::unique_lock lock(shelf_->mutex);
    const auto answers = [this] { return !shelf_->silent; };
    if (!shelf_->changed.wait_for(lock, std::chrono::nanoseconds(call.timeout_ns), answers)) {
      return {absl::DeadlineExceededError("no answer"), false, 0, ""};
    }
    if (call.kind == StoreCall::Kind::kRemove) shelf_->revision = 0;
    if (call.kind == StoreCall::Kind::kPut && call.expected == shelf_->revision) {
      shelf_->revision = ++shelf_->last;
      shelf_->value = call.value;
      return {absl::OkStatus(), true, shelf_->revision, ""};
    }
    return {absl::OkStatus(), false, shelf_->revision, shelf_->value};
  }

 private:
  const std::shared_ptr<Shelf> shelf_;
};

class KeyedRegisterTest : public testing::Test {
 protected:
  std::unique_ptr<KeyStore> Store() { return std::make_unique<ShelfStore>(shelf_); }
  absl::StatusOr<std::unique_ptr<KeyedRegister>> Open() {
    return KeyedRegister::Open(Store(), options_);
  }
  static absl::Status Written(KeyedRegister& job, const JobRecord& record) {
    std::promise<absl::Status> written;
    job.Write(record, [&](const absl::Status& status) { written.set_value(status); });
    return written.get_future().get();
  }
  static JobRecord Record(uint64_t epoch) {
    JobRecord record;
    record.view.epoch = Epoch{epoch};
    return record;
  }
  void BeSilent(bool silent) {
    const std::lock_guard lock(shelf_->mutex);
    shelf_->silent = silent;
    shelf_->changed.notify_all();
  }

  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  KeyedRegisterOptions options_{{"shelf:1"}, std::chrono::seconds(60), {}};
};

TEST_F(KeyedRegisterTest, WhatWasWrittenIsFoundByTheNextAndTheLastMayNotWrite) {
  ASSERT_TRUE(CreateRecordKey(Store(), options_).ok());
  EXPECT_EQ(CreateRecordKey(Store(), options_).code(), absl::StatusCode::kAlreadyExists);
  auto first = Open();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE((*first)->found().has_value());
  EXPECT_TRUE(Written(**first, Record(1)).ok());
  EXPECT_TRUE(Written(**first, Record(2)).ok());
  auto second = Open();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->found(), Record(2));
  EXPECT_GT((*second)->claim(), (*first)->claim());
  EXPECT_EQ(Written(**first, Record(3)).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Written(**second, Record(4)).ok());
  ASSERT_TRUE(RemoveRecordKey(Store(), options_).ok());
  EXPECT_EQ(Written(**second, Record(5)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KeyedRegisterTest, AWriteWaitsForTheStore) {
  ASSERT_TRUE(CreateRecordKey(Store(), options_).ok());
  auto job = Open();
  ASSERT_TRUE(job.ok()) << job.status();
  BeSilent(true);
  std::promise<absl::Status> written;
  std::future<absl::Status> result = written.get_future();
  (*job)->Write(Record(1), [&](const absl::Status& status) { written.set_value(status); });
  EXPECT_EQ(result.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  BeSilent(false);
  EXPECT_TRUE(result.get().ok());
}

TEST_F(KeyedRegisterTest, PatienceHasAnEnd) {
  ASSERT_TRUE(CreateRecordKey(Store(), options_).ok());
  options_.patience = std::chrono::milliseconds(100);
  auto job = Open();
  ASSERT_TRUE(job.ok()) << job.status();
  BeSilent(true);
  EXPECT_EQ(Written(**job, Record(1)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(KeyedRegisterTest, GoesWhileAWriteIsUnderWay) {
  ASSERT_TRUE(CreateRecordKey(Store(), options_).ok());
  auto job = Open();
  ASSERT_TRUE(job.ok()) << job.status();
  BeSilent(true);
  bool told = false;
  (*job)->Write(Record(1), [&](const absl::Status&) { told = true; });
  job->reset();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace phalanx::control
