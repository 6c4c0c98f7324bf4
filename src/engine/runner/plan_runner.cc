#include "runner/plan_runner.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiled_plan.h"
#include "plan/planner.h"

namespace phalanx::engine {
namespace {

using plan::StepKind;

static_assert(plan::kStagedBytes == spi::kMaxStagedBytes);

// What one source contributes to a reduction at a time: all ranks' tiles fit the second cache.
constexpr size_t kTileBytes = 32 * 1024;
constexpr std::align_val_t kAlignment{64};

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};
using AlignedBytes = std::unique_ptr<std::byte, AlignedDelete>;

AlignedBytes AllocateAligned(size_t bytes) {
  if (bytes == 0) return nullptr;
  return AlignedBytes(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
}

bool HasFactors(const plan::Plan& plan) {
  return plan.op == ReduceOp::kPreMultipliedSum ||
         (plan.op == ReduceOp::kAverage && !IsInteger(plan.type));
}

}  // namespace

class PlanRunner::Impl {
 public:
  Impl(std::shared_ptr<const plan::Plan> plan, spi::TransferListener* listener)
      : plan_(std::move(plan)),
        compiled_(*plan_),
        element_(SizeOf(plan_->type)),
        rounds_(plan_->rounds),
        window_(plan_->window),
        slots_(window_),
        states_(window_ * compiled_.steps.size()),
        next_start_(compiled_.steps.size()) {
    for (uint32_t index = 0; index < window_; ++index) {
      slots_[index].index = index;
      slots_[index].states = states_.data() + index * compiled_.steps.size();
    }
    for (size_t i = 0; i < size_t{window_} * compiled_.transfers; ++i) {
      transfers_.emplace_back(listener);
    }
    if (!compiled_.uses_group) {
      scratch_ = AllocateAligned(compiled_.region_bytes[static_cast<int>(Region::kScratch)]);
    }
    if (compiled_.pulls_to_reduce) {
      tiles_ = AllocateAligned(kTileBytes * plan_->size);
      sources_.resize(plan_->size);
      if (HasFactors(*plan_)) factors_.resize(plan_->size);
    }
  }

  ~Impl() {
    Cancel();
    PHX_CHECK_MSG(idle(), "a plan runner was destroyed with transfers in flight");
  }

  absl::Status Start(const RunContext& context);
  absl::StatusOr<State> Advance(size_t budget_bytes);
  bool WaitOnGroup(Clock::duration timeout);
  std::vector<int> Missing() const;
  std::string Describe() const;

  void Cancel() {
    if (running_ && compiled_.uses_group) context_.group->Withdraw();
    running_ = false;
  }

  bool idle() const {
    if (!compiled_.uses_links) return true;
    return std::all_of(transfers_.begin(), transfers_.end(), [](const spi::Transfer& transfer) {
      return transfer.idle() || transfer.done();
    });
  }

 private:
  enum class Phase : uint8_t { kWaiting, kStarted, kDone };
  struct StepState {
    Phase phase = Phase::kWaiting;
    size_t progress = 0;  // bytes done, or peers awaited
  };
  // One round in progress.
  struct Slot {
    uint32_t round = 0;
    uint32_t index = 0;
    uint32_t first = 0;  // steps before it are done
    StepState* states = nullptr;
  };
  enum class Outcome : uint8_t { kBlocked, kMoved, kDone, kFailed };

  void Open(uint32_t round);
  bool Advance(Slot* slot);
  bool AdvanceInSequence(Slot* slot);
  // Most operations are short and have one round; a division would show.
  const Slot& SlotOf(uint32_t round) const { return slots_[window_ == 1 ? 0 : round % window_]; }
  Slot& SlotOf(uint32_t round) { return slots_[window_ == 1 ? 0 : round % window_]; }
  bool MayStart(const Slot& slot, uint32_t step) const;
  // Could be done now, if only the peers had come so far.
  bool Pending(const Slot& slot, uint32_t step) const {
    return slot.states[step].phase == Phase::kStarted ||
           (slot.states[step].phase == Phase::kWaiting && MayStart(slot, step));
  }
  Outcome Perform(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome Send(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome Receive(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome Finish(spi::Transfer* transfer);
  Outcome Local(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome Await(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome Pull(const Slot& slot, const CompiledStep& step, StepState* state);
  Outcome PullReduce(const Slot& slot, const CompiledStep& step, StepState* state);
  absl::Status ReduceTile(const Slot& slot, const CompiledStep& step, size_t offset, size_t bytes,
                          std::byte* destination);
  spi::Publish Publication(const Slot& slot, const CompiledStep& step) const;
  void FetchFactors();

  Outcome Fail(absl::Status status) {
    error_ = std::move(status);
    return Outcome::kFailed;
  }
  const std::byte* Readable(Region region) const {
    return region == Region::kInput ? context_.input : Writable(region);
  }
  std::byte* Writable(Region region) const {
    return region == Region::kOutput ? context_.output : scratch_memory_;
  }
  spi::Transfer* TransferOf(const Slot& slot, const CompiledStep& step) {
    return &transfers_[size_t{slot.index} * compiled_.transfers + step.transfer];
  }
  spi::Label LabelOf(const Slot& slot, const CompiledStep& step) const {
    return {{context_.tag.number + uint64_t{slot.round} * plan_->messages + step.message,
             context_.tag.space},
            context_.check};
  }
  // A piece of `left` bytes that the budget allows, whole elements.
  size_t Piece(size_t left, size_t most) const {
    const size_t allowed = std::max(budget_, kTileBytes);
    return std::min({left, most, allowed});
  }
  void Spend(size_t bytes) { budget_ -= std::min(bytes, budget_); }

  const std::shared_ptr<const plan::Plan> plan_;
  const CompiledPlan compiled_;
  const size_t element_;
  const uint32_t rounds_;
  const uint32_t window_;

  RunContext context_;
  std::byte* scratch_memory_ = nullptr;
  bool running_ = false;
  uint32_t blocked_ = 0;  // how often
  absl::Status error_;
  size_t budget_ = 0;
  uint32_t oldest_ = 0;  // rounds before it are complete
  uint32_t opened_ = 0;  // rounds before it have been opened
  std::vector<Slot> slots_;
  std::vector<StepState> states_;        // by slot and step
  std::vector<uint32_t> next_start_;     // by step: the next round in which it starts
  std::deque<spi::Transfer> transfers_;  // by slot and link step
  AlignedBytes scratch_;
  AlignedBytes tiles_;
  std::vector<const void*> sources_;
  std::vector<device::Factor> factors_;
  bool factors_known_ = false;
};

absl::Status PlanRunner::Impl::Start(const RunContext& context) {
  PHX_CHECK_MSG(!running_ && idle(), "a plan runner was started while it runs");
  if (compiled_.uses_links && context.links.size() != static_cast<size_t>(plan_->size)) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", plan_->rank, " has ", context.links.size(), " links for a ",
                     plan_->algorithm, " plan of ", plan_->size, " ranks"));
  }
  if (compiled_.uses_group && context.group == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", plan_->rank, " has no group for a ", plan_->algorithm, " plan"));
  }
  context_ = context;
  error_ = absl::OkStatus();
  if (compiled_.uses_links) {
    for (spi::Transfer& transfer : transfers_) {
      if (transfer.done()) transfer.Reset();
    }
  }
  scratch_memory_ = scratch_.get();
  factors_known_ = false;
  if (compiled_.uses_group) {
    const auto& bytes = compiled_.region_bytes;
    spi::GroupOperation operation;
    operation.sequence = context.group_sequence;
    operation.rounds = rounds_;
    operation.input = context.input;
    operation.input_bytes = context.input == nullptr ? 0 : bytes[0];
    operation.output = context.output;
    operation.output_bytes = context.output == nullptr ? 0 : bytes[1];
    operation.scratch_bytes = bytes[2];
    operation.factor_bits = context.factor.bits();
    operation.check = context.check;
    PHX_RETURN_IF_ERROR(context_.group->Begin(operation));
    scratch_memory_ = bytes[2] == 0 ? nullptr : context_.group->scratch();
  }
  running_ = true;
  blocked_ = 0;
  oldest_ = 0;
  opened_ = 0;
  if (window_ > 1) std::fill(next_start_.begin(), next_start_.end(), 0);
  while (opened_ < std::min(window_, rounds_)) Open(opened_++);
  return absl::OkStatus();
}

void PlanRunner::Impl::Open(uint32_t round) {
  Slot& slot = SlotOf(round);
  slot.round = round;
  slot.first = 0;
  std::fill_n(slot.states, compiled_.steps.size(), StepState());
}

absl::StatusOr<PlanRunner::State> PlanRunner::Impl::Advance(size_t budget_bytes) {
  if (!running_) {
    if (!error_.ok()) return error_;
    return State::kComplete;
  }
  budget_ = std::max<size_t>(budget_bytes, 1);
  bool moved = false;
  uint32_t round = oldest_;
  while (round < opened_ && budget_ > 0) {
    Slot& slot = SlotOf(round);
    const bool round_moved = Advance(&slot);
    if (!error_.ok()) {
      Cancel();
      return error_;
    }
    moved |= round_moved;
    if (round == oldest_ && slot.first == compiled_.steps.size()) {
      moved = true;
      ++oldest_;
      if (opened_ < rounds_) Open(opened_++);
      round = oldest_;
    } else if (round_moved && round != oldest_) {
      round = oldest_;  // others may have come on meanwhile, and wait for our oldest round
    } else {
      ++round;
    }
  }
  if (oldest_ == rounds_) {
    running_ = false;
    if (compiled_.uses_group) error_ = context_.group->End();
    if (!error_.ok()) return error_;
    return State::kComplete;
  }
  if (moved) return State::kMoved;
  // Most waits are short, and a look at the members would lengthen them.
  if (compiled_.uses_group && blocked_++ > 0) {
    if (absl::Status same = context_.group->CheckMembers(); !same.ok()) {
      Cancel();
      error_ = std::move(same);
      return error_;
    }
  }
  return State::kBlocked;
}

// The steps of the only round, one after the other, until one has to wait. True if anything was
// done.
bool PlanRunner::Impl::AdvanceInSequence(Slot* slot) {
  bool moved = false;
  const auto steps = static_cast<uint32_t>(compiled_.steps.size());
  while (slot->first < steps && budget_ > 0) {
    StepState& state = slot->states[slot->first];
    const Outcome outcome = Perform(*slot, compiled_.steps[slot->first], &state);
    if (outcome == Outcome::kBlocked || outcome == Outcome::kFailed) return moved;
    moved = true;
    if (outcome == Outcome::kMoved) return true;
    state.phase = Phase::kDone;
    ++slot->first;
  }
  return moved;
}

// One look at every step of a round. True if anything was done.
bool PlanRunner::Impl::Advance(Slot* slot) {
  if (compiled_.in_sequence) return AdvanceInSequence(slot);
  const auto steps = static_cast<uint32_t>(compiled_.steps.size());
  bool moved = false;
  for (uint32_t i = slot->first; i < steps && budget_ > 0; ++i) {
    StepState& state = slot->states[i];
    if (state.phase == Phase::kWaiting && MayStart(*slot, i)) {
      const CompiledStep& step = compiled_.steps[i];
      Outcome outcome = Outcome::kDone;
      if (!step.last_round_only || slot->round + 1 == rounds_) {
        outcome = Perform(*slot, step, &state);
      }
      if (outcome == Outcome::kFailed) return moved;
      if (outcome != Outcome::kBlocked) {
        moved = true;
        ++next_start_[i];
        state.phase = outcome == Outcome::kDone ? Phase::kDone : Phase::kStarted;
      }
    } else if (state.phase == Phase::kStarted) {
      const Outcome outcome = Perform(*slot, compiled_.steps[i], &state);
      if (outcome == Outcome::kFailed) return moved;
      moved |= outcome != Outcome::kBlocked;
      if (outcome == Outcome::kDone) state.phase = Phase::kDone;
    }
    if (state.phase == Phase::kDone && i == slot->first) ++slot->first;
  }
  return moved;
}

bool PlanRunner::Impl::MayStart(const Slot& slot, uint32_t step) const {
  if (window_ > 1 && next_start_[step] != slot.round) return false;
  const CompiledStep& compiled = compiled_.steps[step];
  for (uint32_t i = compiled.after_begin; i < compiled.after_end; ++i) {
    if (slot.states[compiled_.after[i]].phase != Phase::kDone) return false;
  }
  return true;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Perform(const Slot& slot, const CompiledStep& step,
                                                    StepState* state) {
  switch (step.kind) {
    case StepKind::kSend:
      return Send(slot, step, state);
    case StepKind::kReceive:
      return Receive(slot, step, state);
    case StepKind::kCopy:
    case StepKind::kScale:
    case StepKind::kReduce:
    case StepKind::kDivide:
      return Local(slot, step, state);
    case StepKind::kPublish:
      return context_.group->TryPublish(Publication(slot, step)) ? Outcome::kDone
                                                                 : Outcome::kBlocked;
    case StepKind::kRaise:
      context_.group->Raise(step.signal, slot.round);
      return Outcome::kDone;
    case StepKind::kAwait:
      return Await(slot, step, state);
    case StepKind::kPull:
      return Pull(slot, step, state);
    case StepKind::kPullReduce:
      return PullReduce(slot, step, state);
  }
  return Fail(absl::InternalError("a plan has a step of unknown kind"));
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Send(const Slot& slot, const CompiledStep& step,
                                                 StepState* state) {
  spi::Transfer* const transfer = TransferOf(slot, step);
  if (state->phase == Phase::kStarted) return Finish(transfer);
  const Range range = step.source.In(slot.round, slot.index);
  if (range.bytes == 0) return Outcome::kDone;
  context_.links[step.peer]->Send(
      LabelOf(slot, step),
      absl::MakeConstSpan(Readable(step.source.region) + range.offset, range.bytes), transfer);
  const Outcome outcome = Finish(transfer);
  return outcome == Outcome::kBlocked ? Outcome::kMoved : outcome;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Receive(const Slot& slot, const CompiledStep& step,
                                                    StepState* state) {
  spi::Transfer* const transfer = TransferOf(slot, step);
  if (state->phase == Phase::kStarted) return Finish(transfer);
  const Range range = step.destination.In(slot.round, slot.index);
  if (range.bytes == 0) return Outcome::kDone;
  context_.links[step.peer]->Receive(
      LabelOf(slot, step),
      absl::MakeSpan(Writable(step.destination.region) + range.offset, range.bytes), transfer);
  const Outcome outcome = Finish(transfer);
  return outcome == Outcome::kBlocked ? Outcome::kMoved : outcome;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Finish(spi::Transfer* transfer) {
  if (!transfer->done()) return Outcome::kBlocked;
  if (!transfer->status().ok()) return Fail(transfer->status());
  transfer->Reset();
  return Outcome::kDone;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Local(const Slot& slot, const CompiledStep& step,
                                                  StepState* state) {
  const Range range = step.destination.In(slot.round, slot.index);
  std::byte* const destination = Writable(step.destination.region) + range.offset;
  const std::byte* source = destination;
  if (step.kind != StepKind::kDivide) {
    source = Readable(step.source.region) + step.source.In(slot.round, slot.index).offset;
  }
  if (step.kind == StepKind::kCopy && source == destination) return Outcome::kDone;
  while (state->progress < range.bytes) {
    if (budget_ == 0) return Outcome::kMoved;
    const size_t at = state->progress;
    const size_t bytes = Piece(range.bytes - at, kTileBytes);
    const size_t count = bytes / element_;
    if (step.kind == StepKind::kCopy) {
      std::memcpy(destination + at, source + at, bytes);
    } else if (step.kind == StepKind::kScale) {
      device::Scale(plan_->type, source + at, context_.factor, destination + at, count);
    } else if (step.kind == StepKind::kDivide) {
      device::Divide(plan_->type, destination + at, plan_->size, count);
    } else {
      const std::byte* const other =
          Readable(step.other.region) + step.other.In(slot.round, slot.index).offset;
      device::Reduce(plan_->type, plan_->op, source + at, other + at, destination + at, count);
    }
    state->progress += bytes;
    Spend(bytes);
  }
  return Outcome::kDone;
}

spi::Publish PlanRunner::Impl::Publication(const Slot& slot, const CompiledStep& step) const {
  const Range range = step.source.In(slot.round, slot.index);
  spi::Publish publish;
  publish.publication = step.staged ? spi::Publication::kStaged : spi::Publication::kInPlace;
  publish.region = step.source.region;
  publish.offset = range.offset;
  publish.bytes = range.bytes;
  publish.ranges = step.source.ranges;
  publish.stride = step.source.stride;
  publish.round = slot.round;
  publish.signal = step.signal;
  publish.acknowledged = step.acknowledged;
  return publish;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Await(const Slot& slot, const CompiledStep& step,
                                                  StepState* state) {
  if (step.peer >= 0) {
    return context_.group->Reached(step.peer, step.signal, slot.round) ? Outcome::kDone
                                                                       : Outcome::kBlocked;
  }
  for (; state->progress < static_cast<size_t>(plan_->size); ++state->progress) {
    const int peer = static_cast<int>(state->progress);
    if (peer == plan_->rank) continue;
    if (!context_.group->Reached(peer, step.signal, slot.round)) return Outcome::kBlocked;
  }
  return Outcome::kDone;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::Pull(const Slot& slot, const CompiledStep& step,
                                                 StepState* state) {
  const Range range = step.destination.In(slot.round, slot.index);
  const size_t source = step.source.In(slot.round, slot.index).offset;
  std::byte* const destination = Writable(step.destination.region) + range.offset;
  while (state->progress < range.bytes) {
    if (budget_ == 0) return Outcome::kMoved;
    const size_t bytes = Piece(range.bytes - state->progress, range.bytes);
    absl::Status status =
        context_.group->ReadInto(step.peer, step.source.region, source + state->progress, bytes,
                                 slot.round, destination + state->progress);
    if (!status.ok()) return Fail(std::move(status));
    state->progress += bytes;
    Spend(bytes);
  }
  return Outcome::kDone;
}

PlanRunner::Impl::Outcome PlanRunner::Impl::PullReduce(const Slot& slot, const CompiledStep& step,
                                                       StepState* state) {
  if (!factors_known_) FetchFactors();
  const Range range = step.destination.In(slot.round, slot.index);
  const size_t source = step.source.In(slot.round, slot.index).offset;
  std::byte* const destination = Writable(step.destination.region) + range.offset;
  while (state->progress < range.bytes) {
    if (budget_ == 0) return Outcome::kMoved;
    const size_t at = state->progress;
    const size_t bytes = Piece(range.bytes - at, kTileBytes);
    absl::Status status = ReduceTile(slot, step, source + at, bytes, destination + at);
    if (!status.ok()) return Fail(std::move(status));
    state->progress += bytes;
    Spend(bytes * plan_->size);
  }
  return Outcome::kDone;
}

absl::Status PlanRunner::Impl::ReduceTile(const Slot& slot, const CompiledStep& step, size_t offset,
                                          size_t bytes, std::byte* destination) {
  for (int rank = 0; rank < plan_->size; ++rank) {
    if (rank == plan_->rank) {
      sources_[rank] = Readable(step.source.region) + offset;
      continue;
    }
    absl::StatusOr<const std::byte*> tile =
        context_.group->Read(rank, step.source.region, offset, bytes, slot.round,
                             tiles_.get() + kTileBytes * static_cast<size_t>(rank));
    if (!tile.ok()) return std::move(tile).status();
    sources_[rank] = *tile;
  }
  device::ReduceMany(plan_->type, plan_->op, sources_, factors_, destination, bytes / element_);
  return absl::OkStatus();
}

// All members have raised a signal by now: a reduction waits for them.
void PlanRunner::Impl::FetchFactors() {
  factors_known_ = true;
  for (size_t rank = 0; rank < factors_.size(); ++rank) {
    const int peer = static_cast<int>(rank);
    const bool own = peer == plan_->rank || plan_->op == ReduceOp::kAverage;
    factors_[rank] =
        own ? context_.factor : device::Factor::FromBits(context_.group->factor_bits(peer));
  }
}

bool PlanRunner::Impl::WaitOnGroup(Clock::duration timeout) {
  if (!running_ || !compiled_.uses_group || oldest_ == rounds_) return false;
  const Slot& slot = SlotOf(oldest_);
  for (uint32_t i = slot.first; i < compiled_.steps.size(); ++i) {
    const CompiledStep& step = compiled_.steps[i];
    const StepState& state = slot.states[i];
    const bool waits =
        state.phase == Phase::kStarted || (state.phase == Phase::kWaiting && MayStart(slot, i));
    if (!waits) continue;
    if (step.kind == StepKind::kPublish) {
      context_.group->WaitToPublish(Publication(slot, step), timeout);
      return true;
    }
    if (step.kind == StepKind::kAwait) {
      const int peer = step.peer >= 0 ? step.peer : static_cast<int>(slot.states[i].progress);
      context_.group->Wait(peer, step.signal, slot.round, timeout);
      return true;
    }
  }
  return false;
}

std::vector<int> PlanRunner::Impl::Missing() const {
  std::vector<int> missing;
  if (!running_ || oldest_ == rounds_) return missing;
  const Slot& slot = SlotOf(oldest_);
  for (uint32_t i = slot.first; i < compiled_.steps.size(); ++i) {
    const CompiledStep& step = compiled_.steps[i];
    if (!Pending(slot, i)) continue;
    if (step.peer >= 0) {
      missing.push_back(step.peer);
    } else if (step.kind == StepKind::kAwait) {
      for (int peer = 0; peer < plan_->size; ++peer) {
        if (peer == plan_->rank || context_.group->Reached(peer, step.signal, slot.round)) continue;
        missing.push_back(peer);
      }
    }
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

std::string PlanRunner::Impl::Describe() const {
  if (!running_ || oldest_ == rounds_) return "complete";
  const Slot& slot = SlotOf(oldest_);
  std::string text = absl::StrCat(plan_->algorithm, ", round ", slot.round, " of ", rounds_, ":");
  for (uint32_t i = slot.first; i < compiled_.steps.size(); ++i) {
    const CompiledStep& step = compiled_.steps[i];
    if (!Pending(slot, i)) continue;
    absl::StrAppend(&text, " step ", i, " (", plan::NameOf(step.kind), ")");
  }
  for (const int peer : Missing()) absl::StrAppend(&text, " rank ", peer);
  return text;
}

PlanRunner::PlanRunner(std::shared_ptr<const plan::Plan> plan, spi::TransferListener* listener)
    : impl_(std::make_unique<Impl>(std::move(plan), listener)) {}
PlanRunner::~PlanRunner() = default;

absl::Status PlanRunner::Start(const RunContext& context) { return impl_->Start(context); }
absl::StatusOr<PlanRunner::State> PlanRunner::Advance(size_t budget_bytes) {
  return impl_->Advance(budget_bytes);
}
void PlanRunner::Cancel() { impl_->Cancel(); }
std::vector<int> PlanRunner::Missing() const { return impl_->Missing(); }
std::string PlanRunner::Describe() const { return impl_->Describe(); }
bool PlanRunner::idle() const { return impl_->idle(); }
bool PlanRunner::WaitOnGroup(Clock::duration timeout) { return impl_->WaitOnGroup(timeout); }

}  // namespace phalanx::engine
