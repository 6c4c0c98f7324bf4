#include "fuser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "engine/stream_units.h"
#include "ordering/explain.h"

namespace phalanx::api {
namespace {

using plan::CollectiveKind;

constexpr Clock::duration kLongestPark = std::chrono::milliseconds(50);

uint64_t BytesOf(const engine::Request& request) { return request.count * SizeOf(request.type); }

// A request of the fuser's own. It lasts as long as the slowest rank; the view's end ends it.
engine::Request OwnRequest(CollectiveKind kind, engine::KeyedLane* lane) {
  engine::Request request;
  request.kind = kind;
  request.key = lane;
  request.timeout = std::chrono::nanoseconds::max();
  return request;
}

}  // namespace

void FusedCount::Add(int64_t operations) {
  const std::lock_guard lock(mutex_);
  value_ += operations;
  if (value_ == 0) none_.notify_all();
}

int64_t FusedCount::value() {
  const std::lock_guard lock(mutex_);
  return value_;
}

bool FusedCount::AwaitNone(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, deadline.Left(Clock::now()), [this] { return value_ == 0; });
}

Fuser::Fuser(engine::Channel* channel, engine::KeyedLane* lane, engine::Engine* engine,
             FusedCount* count, const Limits& limits, Logger logger)
    : channel_(channel),
      engine_(engine),
      count_(count),
      limits_(limits),
      logger_(std::move(logger)),
      pool_(engine::OperationPool::Create()),
      lane_(lane),
      negotiation_({channel->group().rank, channel->group().size, limits.most_bytes}),
      round_ended_(Clock::now()),
      thread_([this] { Run(); }) {}

Fuser::~Fuser() { pool_->Orphan(); }

void Fuser::Close() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  logger_.Info(absl::StrCat("fusion on communicator ", channel_->id().value, ": ", sent_,
                            " operations in ", reductions_, " reductions, ", rounds_, " rounds"));
}

engine::Operation* Fuser::Issue(const engine::Request& request) {
  engine::Operation* const operation = pool_->Take(/*references=*/2);  // the caller's and ours
  const bool on_stream = request.stream != nullptr;
  count_->Add(1);
  {
    const std::lock_guard lock(mutex_);
    operation->Begin(request, this, channel_->id(), issued_[request.key->name]++,
                     on_stream ? engine_->device().CreateEvent() : nullptr);
    items_[request.key->name].push_back({operation});
  }
  const absl::Status queued = on_stream ? QueueOnStream(operation) : absl::OkStatus();
  if (!queued.ok()) engine_->Abort(queued);
  if (!on_stream || !queued.ok()) Reached(operation);
  return operation;
}

absl::Status Fuser::QueueOnStream(engine::Operation* operation) {
  operation->Retain();
  // The stream may get there when the view, and this, have ended long ago.
  const auto reached = [weak = weak_from_this()](engine::Operation* one) {
    if (const auto self = weak.lock()) self->Reached(one);
    one->Release();
  };
  const absl::StatusOr<bool> queued =
      engine_->stream_units().Queue(operation, operation->end_event(), reached);
  if (!queued.ok()) operation->Release();
  return queued.status();
}

void Fuser::Reached(engine::Operation* operation) {
  const std::string& key = operation->request().key->name;
  const std::lock_guard lock(mutex_);
  const auto items = items_.find(key);
  if (items == items_.end()) return;  // all have failed meanwhile
  for (Item& item : items->second) item.ready |= item.operation == operation;
  for (Item& item : items->second) {
    if (!item.ready) break;
    if (std::exchange(item.told, true)) continue;
    ordering::Signature signature;
    signature.kind = ordering::OpKind::kAllReduce;
    signature.type = item.operation->request().type;
    signature.reduce = item.operation->request().op;
    signature.count = item.operation->request().count;
    negotiation_.Add(key, signature);
  }
  changed_.notify_all();
}

absl::Status Fuser::Wait(engine::Operation* operation, Deadline deadline) {
  if (operation->done()) return operation->status();
  if (engine::InsideCallback()) {
    return absl::FailedPreconditionError(
        absl::StrCat(operation->ToText(),
                     ": waiting inside a completion callback would stall the thread that "
                     "completes it; wait outside, or chain with Work::Then"));
  }
  std::unique_lock lock(mutex_);
  ++waiters_;
  changed_.notify_all();
  while (!operation->done() && !deadline.Passed(Clock::now())) {
    ended_.wait_for(lock, std::min(deadline.Left(Clock::now()), kLongestPark));
  }
  --waiters_;
  return operation->done() ? operation->status() : Overdue(*operation);
}

absl::Status Fuser::Overdue(const engine::Operation& operation) {
  std::vector<int> missing = negotiation_.MissingFor(operation.request().key->name);
  for (int& rank : missing) rank = channel_->ranks()[static_cast<size_t>(rank)];
  const std::string reason =
      missing.empty()
          ? ""
          : absl::StrCat(" and waits for rank ", absl::StrJoin(missing, ", "), " to have it ready");
  return absl::DeadlineExceededError(
      absl::StrCat(operation.ToText(), " isn't complete in time on rank ",
                   channel_->ranks()[static_cast<size_t>(channel_->group().rank)], reason,
                   "; it stays in flight and its buffers in use"));
}

void Fuser::Run() {
  std::unique_lock lock(mutex_);
  while (AwaitRound(lock)) {
    if (failure_.ok()) failure_ = Round(lock);
    if (!failure_.ok()) FailAll(lock);
    round_ended_ = Clock::now();
  }
}

// False when there will be none.
bool Fuser::AwaitRound(std::unique_lock<std::mutex>& lock) {
  while (negotiation_.waiting() == 0 && failure_.ok()) {
    if (stopping_ && items_.empty()) return false;
    changed_.wait_for(lock, kLongestPark);
    // What waits for its stream starts no round that would end with the view.
    if (!items_.empty()) failure_ = engine_->abort_status();
  }
  changed_.wait(lock, [this] { return stopping_ || !items_.empty(); });
  if (items_.empty()) return false;
  // More may come along, unless there is enough already or somebody waits.
  changed_.wait_until(lock, round_ended_ + limits_.longest_wait, [this] {
    return !failure_.ok() || (negotiation_.has_news() &&
                              (waiters_ > 0 || negotiation_.waiting_bytes() >= limits_.most_bytes));
  });
  return true;
}

absl::Status Fuser::Round(std::unique_lock<std::mutex>& lock) {
  ++rounds_;
  const std::string message = negotiation_.Message();
  lock.unlock();
  const absl::StatusOr<std::vector<std::string>> messages = Exchange(message);
  lock.lock();
  PHX_RETURN_IF_ERROR(messages.status());
  PHX_ASSIGN_OR_RETURN(const fusion::Conclusion conclusion, negotiation_.Conclude(*messages));
  for (const fusion::Mismatch& mismatch : conclusion.mismatches) Refuse(mismatch, lock);
  return Perform(conclusion.batches, lock);
}

absl::StatusOr<std::vector<std::string>> Fuser::Exchange(const std::string& message) {
  const auto size = static_cast<size_t>(channel_->group().size);
  std::string all(message.size() * size, '\0');
  engine::Request request = OwnRequest(CollectiveKind::kAllGather, lane_);
  request.type = DataType::kUint8;
  request.count = message.size();
  request.send = reinterpret_cast<const std::byte*>(message.data());
  request.receive = reinterpret_cast<std::byte*>(all.data());
  engine::Operation* const operation = channel_->Issue(request);
  const absl::Status status = channel_->Wait(operation, Deadline::Never());
  operation->Release();
  PHX_RETURN_IF_ERROR(status);
  std::vector<std::string> messages;
  for (size_t rank = 0; rank < size; ++rank) {
    messages.push_back(all.substr(rank * message.size(), message.size()));
  }
  return messages;
}

// The oldest operation of a key, which the negotiation has concluded on.
engine::Operation* Fuser::Take(const std::string& key) {
  const auto items = items_.find(key);
  engine::Operation* const operation = items->second.front().operation;
  items->second.pop_front();
  if (items->second.empty()) items_.erase(items);
  return operation;
}

absl::Status Fuser::Perform(const std::vector<fusion::Batch>& batches,
                            std::unique_lock<std::mutex>& lock) {
  std::vector<Load> loads;
  for (const fusion::Batch& batch : batches) {
    Load& load = loads.emplace_back();
    for (const std::string& key : batch.keys) load.operations.push_back(Take(key));
    sent_ += batch.keys.size();
  }
  reductions_ += batches.size();
  lock.unlock();
  for (Load& load : loads) Send(&load);
  absl::Status status;
  for (Load& load : loads) status.Update(Finish(&load));
  lock.lock();
  return status;
}

void Fuser::Send(Load* load) {
  const engine::Request& first = load->operations.front()->request();
  engine::Request request = OwnRequest(CollectiveKind::kAllReduce, lane_);
  request.type = first.type;
  request.op = first.op;
  request.factor = first.factor;
  if (load->operations.size() == 1) {
    request.count = first.count;
    request.send = first.send;
    request.receive = first.receive;
  } else {
    for (const engine::Operation* operation : load->operations) {
      const engine::Request& part = operation->request();
      request.count += part.count;
      load->packed.insert(load->packed.end(), part.send, part.send + BytesOf(part));
    }
    request.send = load->packed.data();
    request.receive = load->packed.data();
  }
  load->sent = channel_->Issue(request);
}

absl::Status Fuser::Finish(Load* load) {
  const absl::Status status = channel_->Wait(load->sent, Deadline::Never());
  load->sent->Release();
  const std::byte* from = load->packed.data();
  for (engine::Operation* operation : load->operations) {
    const engine::Request& part = operation->request();
    const size_t bytes = BytesOf(part);
    if (load->operations.size() > 1 && status.ok() && bytes > 0) {
      std::memcpy(part.receive, from, bytes);
      from += bytes;
    }
    End(operation, status);
  }
  return status;
}

void Fuser::Refuse(const fusion::Mismatch& mismatch, std::unique_lock<std::mutex>& lock) {
  const auto party = [this](const ordering::Party& member) {
    return ordering::Party{channel_->ranks()[static_cast<size_t>(member.rank)], member.signature};
  };
  const ordering::Lane lane = ordering::Lane::OfKey(channel_->id(), mismatch.key);
  const ordering::Explanation explanation =
      ordering::ExplainMismatch({lane, 0}, party(mismatch.left), party(mismatch.right));
  engine::Operation* const operation = Take(mismatch.key);
  const absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(operation->ToText(), ": ", ordering::Describe(explanation)));
  lock.unlock();
  End(operation, status);
  lock.lock();
}

void Fuser::FailAll(std::unique_lock<std::mutex>& lock) {
  const auto items = std::exchange(items_, {});
  lock.unlock();
  for (const auto& [key, of_key] : items) {
    for (const Item& item : of_key) End(item.operation, failure_);
  }
  lock.lock();
}

void Fuser::End(engine::Operation* operation, const absl::Status& status) {
  count_->Add(-1);  // first: who sees the operation done may close the session
  operation->End(status);
  const std::lock_guard lock(mutex_);
  ended_.notify_all();
}

}  // namespace phalanx::api
