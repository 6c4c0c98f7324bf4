#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "device/device.h"

namespace phalanx::device {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Long enough that only a hang reaches it.
Deadline Generous() { return Deadline::After(seconds(60)); }
Deadline Soon() { return Deadline::After(milliseconds(20)); }

class HostDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Stream> NewStream() {
    auto stream = device_->CreateStream();
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }

  std::unique_ptr<Device> device_ = OpenHostDevice();
};

TEST_F(HostDeviceTest, AllocatesAlignedMemory) {
  for (const size_t bytes : {0, 1, 63, 64, 65, 100'000}) {
    const auto memory = device_->Allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_NE(*memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 64, 0u);
    std::memset(*memory, 1, bytes);
    device_->Free(*memory);
  }
  device_->Free(nullptr);
}

TEST_F(HostDeviceTest, RefusesImpossibleSizes) {
  for (const size_t bytes : {std::numeric_limits<size_t>::max(),
                             std::numeric_limits<size_t>::max() - 64, size_t{1} << 62}) {
    const auto memory = device_->Allocate(bytes);
    EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST_F(HostDeviceTest, CopiesAtOnce) {
  const std::array<int, 3> source = {1, 2, 3};
  std::array<int, 3> destination = {};
  EXPECT_TRUE(device_->Copy(destination.data(), source.data(), sizeof source).ok());
  EXPECT_EQ(destination, source);
  EXPECT_TRUE(device_->Copy(nullptr, nullptr, 0).ok());
  EXPECT_EQ(device_->Copy(nullptr, source.data(), 4).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HostDeviceTest, RunsWorkInOrder) {
  const auto stream = NewStream();
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(stream->Enqueue([&order, i] { order.push_back(i); }).ok());
  }
  ASSERT_TRUE(stream->Synchronize(Generous()).ok());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST_F(HostDeviceTest, CopiesWhenTheStreamReachesIt) {
  const auto stream = NewStream();
  const auto gate = device_->CreateEvent();
  int source = 1;
  int destination = 0;
  ASSERT_TRUE(stream->WaitFor(gate).ok());
  ASSERT_TRUE(stream->Copy(&destination, &source, sizeof source).ok());
  source = 2;
  gate->Set();
  ASSERT_TRUE(stream->Synchronize(Generous()).ok());
  EXPECT_EQ(destination, 2);
}

TEST_F(HostDeviceTest, OneStreamWaitsForAnother) {
  const auto first = NewStream();
  const auto second = NewStream();
  const auto gate = device_->CreateEvent();
  int value = 0;
  int seen = 0;
  ASSERT_TRUE(first->WaitFor(gate).ok());
  ASSERT_TRUE(first->Enqueue([&] { value = 7; }).ok());
  const auto written = first->Record();
  ASSERT_TRUE(written.ok());
  ASSERT_TRUE(second->WaitFor(*written).ok());
  ASSERT_TRUE(second->Enqueue([&] { seen = value; }).ok());
  EXPECT_FALSE((*written)->Happened());
  gate->Set();
  ASSERT_TRUE(second->Synchronize(Generous()).ok());
  EXPECT_TRUE((*written)->Happened());
  EXPECT_EQ(seen, 7);
}

TEST_F(HostDeviceTest, WaitsEndByTheirDeadlineAndLeaveTheWorkQueued) {
  const auto stream = NewStream();
  const auto gate = device_->CreateEvent();
  std::atomic<bool> ran = false;
  ASSERT_TRUE(stream->WaitFor(gate).ok());
  ASSERT_TRUE(stream->Enqueue([&] { ran = true; }).ok());
  EXPECT_EQ(stream->Synchronize(Soon()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(gate->Wait(Soon()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(ran);
  gate->Set();
  EXPECT_TRUE(stream->Synchronize(Deadline::Never()).ok());
  EXPECT_TRUE(ran);
}

TEST_F(HostDeviceTest, AnEventHappensOnceAndStays) {
  const auto event = device_->CreateEvent();
  EXPECT_FALSE(event->Happened());
  event->Set();
  event->Set();
  EXPECT_TRUE(event->Happened());
  EXPECT_TRUE(event->Wait(Soon()).ok());
  const auto stream = NewStream();
  ASSERT_TRUE(stream->WaitFor(event).ok());
  EXPECT_TRUE(stream->Synchronize(Generous()).ok());
}

TEST_F(HostDeviceTest, ARecordOfAnIdleStreamHasHappened) {
  const auto stream = NewStream();
  const auto event = stream->Record();
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE((*event)->Happened());
}

TEST_F(HostDeviceTest, DestructionEndsTheWorkInProgressAndDropsTheRest) {
  const auto started = device_->CreateEvent();
  std::atomic<bool> ended = false;
  std::atomic<bool> dropped_ran = false;
  auto stream = NewStream();
  std::promise<void> go;
  ASSERT_TRUE(stream
                  ->Enqueue([&, future = go.get_future().share()] {
                    started->Set();
                    future.wait();
                    ended = true;
                  })
                  .ok());
  ASSERT_TRUE(started->Wait(Generous()).ok());
  // The destructor may set its mark before or after the second piece is queued behind a gate that
  // never opens, so that piece can't run either way.
  ASSERT_TRUE(stream->WaitFor(device_->CreateEvent()).ok());
  ASSERT_TRUE(stream->Enqueue([&] { dropped_ran = true; }).ok());
  const auto never = stream->Record();
  ASSERT_TRUE(never.ok());
  go.set_value();
  stream.reset();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(dropped_ran);
  EXPECT_FALSE((*never)->Happened());
  EXPECT_EQ((*never)->Wait(Deadline::Never()).code(), absl::StatusCode::kCancelled);
}

TEST_F(HostDeviceTest, AnotherStreamStaysStoppedAtAnEventThatNeverHappens) {
  auto lost = NewStream();
  ASSERT_TRUE(lost->WaitFor(device_->CreateEvent()).ok());
  const auto never = lost->Record();
  ASSERT_TRUE(never.ok());
  auto stream = NewStream();
  std::atomic<bool> ran = false;
  ASSERT_TRUE(stream->WaitFor(*never).ok());
  ASSERT_TRUE(stream->Enqueue([&] { ran = true; }).ok());
  lost.reset();
  EXPECT_EQ(stream->Synchronize(Soon()).code(), absl::StatusCode::kDeadlineExceeded);
  stream.reset();
  EXPECT_FALSE(ran);
}

TEST_F(HostDeviceTest, AnEventOutlivesTheStreamThatWaitedForIt) {
  const auto event = device_->CreateEvent();
  auto stream = NewStream();
  ASSERT_TRUE(stream->WaitFor(event).ok());
  stream.reset();
  event->Set();
  EXPECT_TRUE(event->Happened());
}

TEST_F(HostDeviceTest, ACallbackMayQueueMoreButNotWaitForItsOwnStream) {
  const auto stream = NewStream();
  absl::Status waited;
  bool second_ran = false;
  ASSERT_TRUE(stream
                  ->Enqueue([&] {
                    waited = stream->Synchronize(Generous());
                    ASSERT_TRUE(stream->Enqueue([&] { second_ran = true; }).ok());
                  })
                  .ok());
  ASSERT_TRUE(stream->Synchronize(Generous()).ok());
  ASSERT_TRUE(stream->Synchronize(Generous()).ok());
  EXPECT_EQ(waited.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(second_ran);
}

TEST_F(HostDeviceTest, SynchronizingWaitsForAllStreams) {
  const auto first = NewStream();
  const auto second = NewStream();
  const auto gate = device_->CreateEvent();
  int value = 0;
  ASSERT_TRUE(second->WaitFor(gate).ok());
  ASSERT_TRUE(second->Enqueue([&] { value = 7; }).ok());
  EXPECT_EQ(device_->Synchronize(Soon()).code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(first->Enqueue([&] { gate->Set(); }).ok());
  EXPECT_TRUE(device_->Synchronize(Generous()).ok());
  EXPECT_EQ(value, 7);
}

TEST_F(HostDeviceTest, SynchronizingPassesOverADestroyedStreamAndRefusesItsOwn) {
  auto lost = NewStream();
  ASSERT_TRUE(lost->WaitFor(device_->CreateEvent()).ok());
  lost.reset();
  const auto stream = NewStream();
  absl::Status inside;
  ASSERT_TRUE(stream->Enqueue([&] { inside = device_->Synchronize(Generous()); }).ok());
  EXPECT_TRUE(device_->Synchronize(Generous()).ok());
  EXPECT_EQ(inside.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HostDeviceTest, APositionTellsStreamsAndTheirWorkApart) {
  const auto first = NewStream();
  const auto second = NewStream();
  const uint64_t before = first->Position();
  EXPECT_NE(before, second->Position());
  EXPECT_EQ(before, first->Position());
  ASSERT_TRUE(first->Enqueue([] {}).ok());
  EXPECT_NE(before, first->Position());
}

TEST_F(HostDeviceTest, RefusesWhatCannotBeDone) {
  const auto stream = NewStream();
  int value = 0;
  EXPECT_EQ(stream->Copy(&value, nullptr, 4).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream->Enqueue(nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stream->WaitFor(nullptr).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HostDeviceTest, ManyThreadsShareAStream) {
  const auto stream = NewStream();
  int sum = 0;  // of the stream's thread alone
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) EXPECT_TRUE(stream->Enqueue([&sum] { ++sum; }).ok());
      EXPECT_TRUE(stream->Synchronize(Generous()).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 1000);
}

}  // namespace
}  // namespace phalanx::device
