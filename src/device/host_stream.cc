#include "host_stream.h"

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

}  // namespace

class HostStream::Queue : public HostEvent::Watcher,
                          public std::enable_shared_from_this<HostStream::Queue> {
 public:
  absl::Status Add(Work work);
  // Ends the thread after the work in progress, and drops the rest.
  void Close();
  bool OnOwnThread();
  bool Idle();

  void EventHappened() override;

 private:
  void Loop();
  void Perform(Work taken);
  void WaitUntilHappened(const WaitWork& event);

  std::mutex mutex_;
  std::condition_variable changed_;  // work came, an event happened, or closing
  std::deque<Work> work_;
  bool busy_ = false;
  bool closing_ = false;
  std::thread thread_;
};

absl::Status HostStream::Queue::Add(Work work) {
  std::lock_guard lock(mutex_);
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

bool HostStream::Queue::Idle() {
  std::lock_guard lock(mutex_);
  return work_.empty() && !busy_;
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

absl::StatusOr<std::shared_ptr<const Event>> HostStream::Record() {
  auto event = std::make_shared<HostEvent>();
  if (queue_->Idle()) {
    event->Set();
  } else {
    PHX_RETURN_IF_ERROR(queue_->Add(event));
  }
  return event;
}

absl::Status HostStream::Synchronize(Deadline deadline) {
  if (queue_->OnOwnThread()) {
    return absl::FailedPreconditionError(
        "a stream's callback waits for its own stream; synchronize from another thread");
  }
  PHX_ASSIGN_OR_RETURN(const std::shared_ptr<const Event> reached, Record());
  return reached->Wait(deadline);
}

}  // namespace phalanx::device
