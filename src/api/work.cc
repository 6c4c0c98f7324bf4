#include "phalanx/work.h"

#include <atomic>
#include <utility>

#include "base/deadline.h"
#include "engine/operation.h"

namespace phalanx {

Work::Work(absl::Status status) : status_(std::move(status)) {}

Work::Work(engine::Operation* operation) : operation_(operation) {}

Work::Work(const Work& other)
    : operation_(other.operation_), more_(other.more_), status_(other.status_) {
  if (operation_ != nullptr) operation_->Retain();
}

Work::Work(Work&& other) noexcept
    : operation_(std::exchange(other.operation_, nullptr)),
      more_(std::move(other.more_)),
      status_(std::move(other.status_)) {}

Work& Work::operator=(const Work& other) {
  if (this != &other) *this = Work(other);
  return *this;
}

Work& Work::operator=(Work&& other) noexcept {
  std::swap(operation_, other.operation_);
  std::swap(more_, other.more_);
  std::swap(status_, other.status_);
  return *this;
}

Work::~Work() {
  if (operation_ != nullptr) operation_->Release();
}

absl::Status Work::Wait() {
  if (operation_ == nullptr) return status_;
  return Wait(operation_->request().timeout);
}

absl::Status Work::Wait(std::chrono::nanoseconds timeout) {
  if (operation_ == nullptr) return status_;
  if (operation_->done() && more_ == nullptr) return operation_->status();
  const Deadline deadline = Deadline::After(timeout);
  absl::Status status =
      operation_->done() ? operation_->status() : operation_->owner().Wait(operation_, deadline);
  if (more_ == nullptr) return status;
  for (Work& work : *more_) status.Update(work.Wait(deadline.Left(Clock::now())));
  return status;
}

bool Work::Poll() {
  bool done = operation_ == nullptr || operation_->done() || operation_->owner().Poll(operation_);
  if (more_ != nullptr) {
    for (Work& work : *more_) done &= work.Poll();
  }
  return done;
}

void Work::Then(std::function<void(const absl::Status&)> callback) {
  if (operation_ == nullptr) {
    callback(status_);
    return;
  }
  if (more_ == nullptr) {
    operation_->Then(std::move(callback));
    return;
  }
  // A group: the last of its operations to end calls, with the first error in the order of the
  // calls.
  struct Join {
    explicit Join(int parts) : left(parts) {}
    std::atomic<int> left;
    Work group;
    std::function<void(const absl::Status&)> callback;
  };
  auto join = std::make_shared<Join>(static_cast<int>(more_->size()) + 1);
  join->group = *this;
  join->callback = std::move(callback);
  const auto part_done = [join](const absl::Status&) {
    if (join->left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    absl::Status status = join->group.operation_->status();
    for (const Work& work : *join->group.more_) status.Update(work.operation_->status());
    join->callback(status);
    join->group = Work();
  };
  operation_->Then(part_done);
  for (const Work& work : *more_) work.operation_->Then(part_done);
}

}  // namespace phalanx
