#include "engine/operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/key_table.h"

namespace phalanx::engine {
namespace {

thread_local int callback_depth = 0;

}  // namespace

bool InsideCallback() { return callback_depth > 0; }

std::string Operation::ToText() const {
  const bool reduces = request_.kind == plan::CollectiveKind::kAllReduce ||
                       request_.kind == plan::CollectiveKind::kReduceScatter ||
                       request_.kind == plan::CollectiveKind::kReduce;
  std::string text = plan::NameOf(request_.kind);
  if (request_.key != nullptr) absl::StrAppend(&text, " key \"", request_.key->name, "\"");
  absl::StrAppend(&text, " #", sequence_);
  if (request_.kind != plan::CollectiveKind::kBarrier) {
    absl::StrAppend(&text, " (", reduces ? absl::StrCat(NameOf(request_.op), " of ") : "",
                    request_.count, " ", NameOf(request_.type), ")");
  }
  absl::StrAppend(&text, " on communicator ", communicator_);
  return text;
}

void Operation::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_->Give(this);
}

void Operation::Finish(absl::Status status) {
  status_ = std::move(status);
  if (stream_event_ != nullptr) stream_event_->Set();
  done_.store(true, std::memory_order_seq_cst);
}

void Operation::Begin(const Request& request, OperationOwner* owner, CommunicatorId communicator,
                      uint64_t sequence, std::shared_ptr<device::ManualEvent> end) {
  request_ = request;
  owner_ = owner;
  communicator_ = communicator.value;
  sequence_ = sequence;
  stream_event_ = std::move(end);
}

void Operation::End(absl::Status status) {
  Finish(std::move(status));
  if (has_callbacks()) RunCallbacks();
  Release();
}

void Operation::Then(Callback callback) {
  if (!done()) {
    {
      const std::lock_guard lock(callbacks_mutex_);
      callbacks_.push_back(std::move(callback));
      has_callbacks_.store(true, std::memory_order_seq_cst);
    }
    // Whoever finishes the operation looks at has_callbacks_ after done_, and we the other way
    // round, so that at least one of us runs them; the list is emptied under its lock, so only one
    // does.
    if (done_.load(std::memory_order_seq_cst)) RunCallbacks();
    return;
  }
  ++callback_depth;
  callback(status_);
  --callback_depth;
}

void Operation::RunCallbacks() {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(callbacks_mutex_);
    callbacks.swap(callbacks_);
  }
  ++callback_depth;
  for (Callback& callback : callbacks) callback(status_);
  --callback_depth;
}

OperationPool::~OperationPool() {
  while (free_ != nullptr) delete std::exchange(free_, free_->next_);
}

Operation* OperationPool::Take(int references) {
  lock_.lock();
  ++live_;
  Operation* operation = free_;
  if (operation != nullptr) free_ = operation->next_;
  lock_.unlock();
  if (operation == nullptr) operation = new Operation(this);
  operation->next_ = nullptr;
  operation->references_.store(references, std::memory_order_relaxed);
  return operation;
}

void OperationPool::Give(Operation* operation) {
  operation->done_.store(false, std::memory_order_relaxed);
  if (operation->has_callbacks_.load(std::memory_order_relaxed)) {
    operation->has_callbacks_.store(false, std::memory_order_relaxed);
  }
  operation->stream_reached_.store(true, std::memory_order_relaxed);
  operation->started_ = false;
  operation->mark_ = {};
  operation->launched_.store(true, std::memory_order_relaxed);
  operation->reached_told_ = false;
  if (operation->refused_.load(std::memory_order_relaxed)) {
    operation->refused_.store(false, std::memory_order_relaxed);
    operation->refusal_ = absl::OkStatus();
  }
  operation->status_ = absl::OkStatus();
  operation->stream_event_.reset();
  operation->request_.parts.reset();
  lock_.lock();
  operation->next_ = free_;
  free_ = operation;
  const bool last = --live_ == 0 && orphaned_;
  lock_.unlock();
  if (last) delete this;
}

int OperationPool::live() {
  lock_.lock();
  const int live = live_;
  lock_.unlock();
  return live;
}

void OperationPool::Orphan() {
  lock_.lock();
  orphaned_ = true;
  const bool last = live_ == 0;
  lock_.unlock();
  if (last) delete this;
}

}  // namespace phalanx::engine
