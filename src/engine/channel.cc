#include "engine/channel.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "engine/engine.h"
#include "engine/stream_units.h"
#include "plan_cache.h"
#include "tags.h"

namespace phalanx::engine {
namespace {

// Bytes reduced or copied between two looks at aborts, deadlines and other operations: some ten
// microseconds of work.
constexpr size_t kBudgetBytes = 256 * 1024;

}  // namespace

Channel::Channel(ChannelConfig config, Engine* engine)
    : config_(std::move(config)),
      engine_(engine),
      pool_(OperationPool::Create()),
      keys_(config_.id),
      send_sequence_(config_.ranks.size(), 0),
      receive_sequence_(config_.ranks.size(), 0),
      plans_(std::make_unique<PlanCache>(config_.group, this)),
      lanes_(engine->gate() == nullptr ? 0 : 1 + 2 * config_.ranks.size(), 0),
      links_(config_.ranks.size(), nullptr) {}

Channel::~Channel() {
  PHX_CHECK(pending() == 0);
  pool_->Orphan();
}

Operation* Channel::Issue(const Request& request) {
  if (LaunchGate* const gate = engine_->gate()) gate->HostComes(request.timeout);
  Operation* const operation = pool_->Take(/*references=*/2);  // the caller's and the queue's
  operation->request_ = request;
  operation->owner_ = this;
  operation->channel_ = this;
  operation->communicator_ = config_.id.value;
  pending_.fetch_add(1, std::memory_order_seq_cst);
  const absl::Status attached =
      request.stream == nullptr ? absl::OkStatus() : AttachStream(operation);
  if (!Enqueue(operation)) {
    Signal();
    // The holder may have given the token just before it could see the inbox.
    if (!TryTakeToken()) {
      engine_->Notify(/*urgent=*/true);
      return operation;
    }
    DrainInbox();
  }
  if (!attached.ok()) engine_->Abort(attached);
  Advance();
  GiveToken();
  if (!operation->done()) {
    constexpr int kTrustedHabit = 2;
    engine_->Notify(inline_habit_.load(std::memory_order_relaxed) < kTrustedHabit);
  }
  return operation;
}

absl::Status Channel::AttachStream(Operation* operation) {
  operation->stream_reached_.store(false, std::memory_order_relaxed);
  operation->stream_event_ = engine_->device().CreateEvent();
  operation->Retain();
  const auto reached = [](Operation* one) {
    if (!one->done()) {
      one->stream_reached_.store(true, std::memory_order_seq_cst);
      one->channel().Signal();
      one->channel().engine_->Notify(/*urgent=*/true);
    }
    one->Release();
  };
  const absl::StatusOr<bool> joined =
      engine_->stream_units().Queue(operation, operation->stream_event_, reached);
  if (!joined.ok()) {
    operation->Release();
    return joined.status();
  }
  if (*joined) operation->request_.beside = true;
  return absl::OkStatus();
}

void Channel::Launch(Operation* operation) {
  operation->launched_.store(true, std::memory_order_seq_cst);
  Signal();
  if (!attended()) engine_->Notify(/*urgent=*/true);  // else who waits goes on with it
}

void Channel::Refuse(Operation* operation, const absl::Status& why) {
  operation->refusal_ = why;
  operation->refused_.store(true, std::memory_order_seq_cst);
  Signal();
  engine_->Notify(/*urgent=*/true);
}

void Channel::DrainInbox() {
  if (!inbox_filled_.load(std::memory_order_seq_cst)) return;
  Operation* operation;
  {
    const std::lock_guard lock(inbox_mutex_);
    inbox_filled_.store(false, std::memory_order_seq_cst);
    operation = inbox_.TakeAll();
  }
  while (operation != nullptr) {
    Operation* const next = operation->next_;
    Append(operation);
    operation = next;
  }
}

// Puts it into its list if nobody holds the token, and holds that then; else into the inbox. The
// gate hears of operations in the order of their issue, on all streams and by those who issue them:
// what it knows of a thread that waits is what that thread has issued.
bool Channel::Enqueue(Operation* operation) {
  const bool gated = engine_->gate() != nullptr;
  std::unique_lock order(issue_lock_, std::defer_lock);
  if (gated) order.lock();
  if (TryTakeToken()) {
    DrainInbox();
    if (gated) Announce(operation, IsNext(*operation));
    Append(operation);
    return true;
  }
  if (gated) Announce(operation, /*is_next=*/false);
  const std::lock_guard lock(inbox_mutex_);
  inbox_.Append(operation);
  inbox_filled_.store(true, std::memory_order_seq_cst);
  return false;
}

void Channel::Announce(Operation* operation, bool is_next) {
  Number(operation);
  if (IsToSelf(*operation)) return;
  operation->launched_.store(false, std::memory_order_relaxed);
  operation->mark_.lane = LaneMemory(*operation);
  operation->reached_told_ = is_next && operation->stream_reached_.load(std::memory_order_acquire);
  engine_->gate()->Issued(operation, operation->reached_told_);
}

bool Channel::IsToSelf(const Operation& operation) const {
  return operation.request_.is_message() && operation.request_.root_or_peer == config_.group.rank;
}

// Whether nothing stands before it. The token's holder knows.
bool Channel::IsNext(const Operation& operation) const {
  if (operation.request_.is_message()) return false;
  const KeyedLane* const lane = operation.request_.key;
  return (lane == nullptr ? collectives_ : lane->operations).front() == nullptr;
}

void Channel::Number(Operation* operation) {
  const Request& request = operation->request_;
  const auto peer = static_cast<size_t>(request.root_or_peer);
  if (request.kind == plan::CollectiveKind::kSend) {
    operation->sequence_ = send_sequence_[peer]++;
  } else if (request.is_message()) {
    operation->sequence_ = receive_sequence_[peer]++;
  } else {
    operation->sequence_ =
        (request.key == nullptr ? collective_sequence_ : request.key->sequence)++;
  }
}

void Channel::Append(Operation* operation) {
  if (engine_->gate() == nullptr) Number(operation);
  const Request& request = operation->request_;
  if (IsToSelf(*operation)) {
    const bool sends = request.kind == plan::CollectiveKind::kSend;
    (sends ? sends_to_self_ : receives_from_self_).Append(operation);
  } else if (request.is_message()) {
    messages_.Append(operation);
  } else if (request.key == nullptr) {
    collectives_.Append(operation);
  } else {
    if (request.key->operations.front() == nullptr) busy_lanes_.push_back(request.key);
    request.key->operations.Append(operation);
  }
}

uint32_t* Channel::LaneMemory(const Operation& operation) {
  const Request& request = operation.request_;
  if (request.key != nullptr) return &request.key->gate_lane;
  if (!request.is_message()) return &lanes_[0];
  const size_t side = request.kind == plan::CollectiveKind::kSend ? 0 : config_.ranks.size();
  return &lanes_[1 + side + static_cast<size_t>(request.root_or_peer)];
}

// Whether the gate lets an operation start whose stream has reached it.
bool Channel::MayLaunch(Operation* operation) {
  if (LaunchGate* const gate = engine_->gate(); gate != nullptr && !operation->reached_told_) {
    operation->reached_told_ = true;
    gate->Reached(operation);
  }
  return operation->launched_.load(std::memory_order_acquire);
}

// A refusal tells more than the end of the view that often follows it.
absl::Status Channel::EndOf(const Operation& operation) {
  if (operation.refused_.load(std::memory_order_acquire)) return operation.refusal_;
  return abort_status();
}

bool Channel::Advance() {
  bool moved = signalled_.load(std::memory_order_relaxed) &&
               signalled_.exchange(false, std::memory_order_seq_cst);
  DrainInbox();
  if (running_on_links_ > 0) {
    for (spi::Wire* wire : engine_->wires()) moved |= wire->Progress();
  }
  moved |= AdvanceSequence(&collectives_);
  if (!busy_lanes_.empty()) moved |= AdvanceKeyed();
  if (messages_.front() != nullptr) moved |= AdvanceMessages();
  if (sends_to_self_.front() != nullptr || receives_from_self_.front() != nullptr) {
    MatchMessagesToSelf();
  }
  if (moved) idle_turns_ = 0;
  return moved;
}

bool Channel::AdvanceSequence(OperationList* operations) {
  bool moved = false;
  while (Operation* const head = operations->front()) {
    const RunState state = Run(head);
    moved |= state != RunState::kBlocked;
    if (state != RunState::kComplete) break;
    operations->Pop();
    Finish(head, EndOf(*head));
  }
  return moved;
}

bool Channel::AdvanceKeyed() {
  bool moved = false;
  for (size_t i = 0; i < busy_lanes_.size();) {
    OperationList& operations = busy_lanes_[i]->operations;
    moved |= AdvanceSequence(&operations);
    if (operations.front() != nullptr) {
      ++i;
    } else {
      busy_lanes_.erase(busy_lanes_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return moved;
}

bool Channel::AdvanceMessages() {
  bool moved = false;
  Operation* previous = nullptr;
  Operation* operation = messages_.front();
  const bool gated = engine_->gate() != nullptr;
  if (gated) lane_busy_.assign(lanes_.size(), false);
  while (operation != nullptr) {
    Operation* const next = operation->next_;
    const RunState state = gated && WaitsInLane(*operation) ? RunState::kBlocked : Run(operation);
    moved |= state != RunState::kBlocked;
    if (state == RunState::kComplete) {
      messages_.Remove(previous, operation);
      Finish(operation, EndOf(*operation));
    } else {
      previous = operation;
    }
    operation = next;
  }
  return moved;
}

// To the gate, messages of one direction are a sequence. Once for each message and look at them.
bool Channel::WaitsInLane(const Operation& operation) {
  const auto lane = static_cast<size_t>(LaneMemory(operation) - lanes_.data());
  if (!lane_busy_[lane]) {
    lane_busy_[lane] = true;
    return false;
  }
  return !operation.started_ && !aborted_.load(std::memory_order_seq_cst);
}

void Channel::MatchMessagesToSelf() {
  const bool aborted = aborted_.load(std::memory_order_seq_cst);
  while (sends_to_self_.front() != nullptr && receives_from_self_.front() != nullptr && !aborted) {
    Operation* const send = sends_to_self_.front();
    Operation* const receive = receives_from_self_.front();
    if (!send->stream_reached_.load(std::memory_order_acquire) ||
        !receive->stream_reached_.load(std::memory_order_acquire)) {
      return;
    }
    const size_t sent = send->request_.count * SizeOf(send->request_.type);
    const size_t room = receive->request_.count * SizeOf(receive->request_.type);
    absl::Status status = absl::OkStatus();
    if (sent != room) {
      status = absl::InvalidArgumentError(absl::StrCat(send->ToText(), " to this rank itself has ",
                                                       sent, " bytes, its receive ", room));
    } else if (sent > 0) {
      std::memmove(receive->request_.receive, send->request_.send, sent);
    }
    Finish(sends_to_self_.Pop(), status);
    Finish(receives_from_self_.Pop(), status);
  }
  if (!aborted) return;
  while (sends_to_self_.front() != nullptr) Finish(sends_to_self_.Pop(), abort_status());
  while (receives_from_self_.front() != nullptr) Finish(receives_from_self_.Pop(), abort_status());
}

Channel::RunState Channel::Run(Operation* operation) {
  if (aborted_.load(std::memory_order_seq_cst)) return RunAborted(operation);
  const bool refused = operation->refused_.load(std::memory_order_acquire);
  if (!operation->started_) {
    if (refused) return RunState::kComplete;
    if (!operation->stream_reached_.load(std::memory_order_acquire) || !MayLaunch(operation)) {
      return RunState::kBlocked;
    }
    if (const absl::Status started = Start(operation); !started.ok()) {
      engine_->Abort(started);
      return RunAborted(operation);
    }
  }
  if (refused) {
    engine_->Abort(operation->refusal_);
    return RunAborted(operation);
  }
  PlanRunner& runner = *operation->plan_->runners[operation->runner_];
  const absl::StatusOr<PlanRunner::State> state = runner.Advance(kBudgetBytes);
  if (!state.ok()) {
    // The members can't agree on anything after this: the view ends here, and with it every
    // operation.
    engine_->Abort(absl::Status(state.status().code(),
                                absl::StrCat(operation->ToText(), ": ", state.status().message())));
    return RunAborted(operation);
  }
  switch (*state) {
    case PlanRunner::State::kComplete:
      return RunState::kComplete;
    case PlanRunner::State::kMoved:
      return RunState::kMoved;
    case PlanRunner::State::kBlocked:
      return RunState::kBlocked;
  }
  return RunState::kBlocked;
}

absl::Status Channel::Start(Operation* operation) {
  const Request& request = operation->request_;
  PHX_ASSIGN_OR_RETURN(const PlanCache::Lease lease, plans_->Acquire(request));
  operation->plan_ = lease.plan;
  operation->runner_ = lease.runner;
  operation->started_ = true;
  if (!lease.plan->link_peers.empty()) ++running_on_links_;
  for (const int peer : lease.plan->link_peers) {
    const auto index = static_cast<size_t>(peer);
    if (links_[index] != nullptr) continue;
    PHX_ASSIGN_OR_RETURN(links_[index], engine_->LinkTo(config_.ranks[index]));
  }
  RunContext context;
  context.input = request.send;
  context.output = request.receive;
  context.factor = request.factor;
  context.links = absl::MakeConstSpan(links_);
  context.group = config_.transport.get();
  context.group_sequence = group_sequence_;
  const TagClass tag_class = request.is_message()     ? TagClass::kPair
                             : request.key != nullptr ? TagClass::kKeyed
                                                      : TagClass::kCollective;
  context.tag = FirstTag(config_.id, tag_class, request.key == nullptr ? 0 : request.key->hash,
                         operation->sequence_);
  context.check = CheckOf(request, lease.plan->signature);
  if (lease.plan->uses_group) ++group_sequence_;
  return lease.plan->runners[lease.runner]->Start(context);
}

// What the members' messages and signals of the operation that starts now have in common. Where a
// root never looks at what the others do, the next operation shows it.
uint32_t Channel::CheckOf(const Request& request, uint64_t signature) {
  if (request.is_message()) return static_cast<uint32_t>(signature);
  History& history = request.key == nullptr ? collective_history_ : request.key->history;
  history.Add(signature);
  return history.check();
}

Channel::RunState Channel::RunAborted(Operation* operation) {
  if (!operation->started_) return RunState::kComplete;
  PlanRunner& runner = *operation->plan_->runners[operation->runner_];
  runner.Cancel();
  // The buffers are the caller's again only when no transfer can touch them.
  return runner.idle() ? RunState::kComplete : RunState::kBlocked;
}

void Channel::Finish(Operation* operation, absl::Status status) {
  if (operation->started_) {
    if (!operation->plan_->link_peers.empty()) --running_on_links_;
    plans_->Release({operation->plan_, operation->runner_});
  }
  if (operation->mark_.lane != nullptr) engine_->gate()->Ended(operation);
  // First: a stream that waits for the operation may be all that a thread waits for before it
  // closes the session.
  pending_.fetch_sub(1, std::memory_order_seq_cst);
  operation->Finish(std::move(status));
  // Only the token's holder writes it.
  completed_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (parked_.load(std::memory_order_seq_cst) > 0) WakeParked();
  if (operation->has_callbacks()) {
    operation->next_ = finished_;
    finished_ = operation;
  } else {
    operation->Release();
  }
}

void Channel::Abort(const absl::Status& status) {
  {
    const std::lock_guard lock(abort_mutex_);
    if (aborted_.load(std::memory_order_relaxed)) return;
    abort_status_ = status;
    aborted_.store(true, std::memory_order_seq_cst);
  }
  if (config_.transport != nullptr) config_.transport->Abort();
  Signal();
}

absl::Status Channel::abort_status() {
  if (!aborted_.load(std::memory_order_seq_cst)) return absl::OkStatus();
  const std::lock_guard lock(abort_mutex_);
  return abort_status_;
}

}  // namespace phalanx::engine
