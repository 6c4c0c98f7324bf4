#include "host_stream.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace phalanx::device {
namespace {

struct CopyWork {
  void* destination;
  const void* source;
  size_t bytes;
};
using CallbackWork = std::function<void()>;
using WaitWork = std::shared_ptr<const HostEvent>;
using RecordWork = std::shared_ptr<HostEvent>;
using Work = std::variant<CopyWork, CallbackWork, WaitWork, RecordWork>;

// Far more than a stream is ever given lies between those of two streams.
uint64_t FirstPosition() {
  static std::atomic<uint64_t> streams{0};
  constexpr int kWorkBits = 40;
  return streams.fetch_add(1, std::memory_order_relaxed) << kWorkBits;
}

}  // namespace

class HostStream::Queue : public HostEvent::Watcher,
                          public std::enable_shared_from_this<HostStream::Queue> {
 public:
  absl::Status Add(Work work);
  // Happens when all work so far has ended, or was dropped.
  absl::StatusOr<std::shared_ptr<const Event>> Record();
  // Ends the thread after the work in progress, and drops the rest.
  void Close();
  bool OnOwnThread();
  uint64_t Position();

  void EventHappened() override;

 private:
  absl::Status AddLocked(Work work);
  void Loop();
  void Perform(Work taken);
  void WaitUntilHappened(const WaitWork& event);

  std::mutex mutex_;
  std::condition_variable changed_;  // work came, an event happened, or closing
  std::deque<Work> work_;
  uint64_t position_ = FirstPosition();
  bool busy_ = false;
  bool closing_ = false;
  std::thread thread_;
};

absl::Status HostStream::Queue::Add(Work work) {
  std::lock_guard lock(mutex_);
  return AddLocked(std::move(work));
}

absl::Status HostStream::Queue::AddLocked(Work work) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot start a stream's thread (", error.what(),
                       "); raise the limit on processes or use fewer streams"));
    }
  }
  work_.push_back(std::move(work));
  ++position_;
  changed_.notify_one();
  return absl::OkStatus();
}

void HostStream::Queue::Close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) {
    PHX_CHECK_MSG(thread_.get_id() != std::this_thread::get_id(),
                  "a stream was destroyed by its own callback");
    thread_.join();
  }
  for (const Work& work : work_) {
    if (const auto* record = std::get_if<RecordWork>(&work)) (*record)->Abandon();
  }
  work_.clear();
}

bool HostStream::Queue::OnOwnThread() {
  std::lock_guard lock(mutex_);
  return thread_.get_id() == std::this_thread::get_id();
}

absl::StatusOr<std::shared_ptr<const Event>> HostStream::Queue::Record() {
  auto event = std::make_shared<HostEvent>();
  std::lock_guard lock(mutex_);
  if (closing_ || (work_.empty() && !busy_)) {
    event->Set();
  } else {
    PHX_RETURN_IF_ERROR(AddLocked(event));
  }
  return event;
}

uint64_t HostStream::Queue::Position() {
  std::lock_guard lock(mutex_);
  return position_;
}

void HostStream::Queue::EventHappened() {
  // The lock orders this after the waiter's look at the event, so that it isn't missed.
  std::lock_guard lock(mutex_);
  changed_.notify_one();
}

void HostStream::Queue::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !work_.empty(); });
    if (closing_) return;
    Work work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    Perform(std::move(work));
    lock.lock();
    busy_ = false;
  }
}

// Takes the work, so that what a callback holds is destroyed here, with no lock held.
void HostStream::Queue::Perform(Work taken) {
  const Work work = std::move(taken);
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    std::memmove(copy->destination, copy->source, copy->bytes);
  } else if (const auto* callback = std::get_if<CallbackWork>(&work)) {
    (*callback)();
  } else if (const auto* event = std::get_if<WaitWork>(&work)) {
    WaitUntilHappened(*event);
  } else {
    std::get<RecordWork>(work)->Set();
  }
}

void HostStream::Queue::WaitUntilHappened(const WaitWork& event) {
  if (!event->Watch(weak_from_this())) return;
  // What an abandoned event stood for was never done, so the work behind it isn't either.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closing_ || event->Happened(); });
}

HostStream::HostStream() : queue_(std::make_shared<Queue>()) {}

HostStream::~HostStream() { queue_->Close(); }

absl::Status HostStream::Copy(void* destination, const void* source, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (destination == nullptr || source == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a stream's copy of ", bytes, " bytes has a null buffer"));
  }
  return queue_->Add(CopyWork{destination, source, bytes});
}

absl::Status HostStream::Enqueue(std::function<void()> callback) {
  if (!callback) return absl::InvalidArgumentError("a stream was given an empty callback");
  return queue_->Add(std::move(callback));
}

absl::Status HostStream::WaitFor(std::shared_ptr<const Event> event) {
  auto host_event = std::dynamic_pointer_cast<const HostEvent>(std::move(event));
  if (host_event == nullptr) {
    return absl::InvalidArgumentError(
        "a host stream waits for events of a host device only; pass one that Record or CreateEvent "
        "of a host device gave");
  }
  return queue_->Add(std::move(host_event));
}

absl::StatusOr<std::shared_ptr<const Event>> HostStream::Record() { return queue_->Record(); }

uint64_t HostStream::Position() const { return queue_->Position(); }

absl::Status HostStream::Synchronize(Deadline deadline) {
  return HostStreams::Synchronize({queue_}, deadline);
}

std::unique_ptr<Stream> HostStreams::Create() {
  auto stream = std::make_unique<HostStream>();
  const std::lock_guard lock(mutex_);
  queues_.erase(std::remove_if(queues_.begin(), queues_.end(),
                               [](const auto& queue) { return queue.expired(); }),
                queues_.end());
  queues_.push_back(stream->queue_);
  return stream;
}

absl::Status HostStreams::Synchronize(Deadline deadline) {
  Queues queues;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& weak : queues_) {
      if (auto queue = weak.lock()) queues.push_back(std::move(queue));
    }
  }
  return Synchronize(queues, deadline);
}

absl::Status HostStreams::Synchronize(const Queues& queues, Deadline deadline) {
  std::vector<std::shared_ptr<const Event>> ends;
  for (const auto& queue : queues) {
    if (queue->OnOwnThread()) {
      return absl::FailedPreconditionError(
          "a stream's callback waits for its own stream; synchronize from another thread");
    }
    PHX_ASSIGN_OR_RETURN(std::shared_ptr<const Event> end, queue->Record());
    ends.push_back(std::move(end));
  }
  for (const auto& end : ends) PHX_RETURN_IF_ERROR(end->Wait(deadline));
  return absl::OkStatus();
}

}  // namespace phalanx::device
