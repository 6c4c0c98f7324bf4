#include "launch/ordered_gate.h"

#include <atomic>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "describe.h"
#include "engine/channel.h"
#include "engine/key_table.h"
#include "engine/signature.h"
#include "ordering/explanation.h"
#include "thread_ends.h"

namespace phalanx::launch {
namespace {

constexpr std::chrono::milliseconds kTick{10};
// The same while an operation is early in the schedule.
constexpr std::chrono::milliseconds kShortTick{1};
// Idle ticks, so that a loop with short pauses wakes nobody.
constexpr int kTicksBeforeSleep = 100;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// INVALID_ARGUMENT where a call is to be mended, FAILED_PRECONDITION where their order is.
absl::Status StatusOf(const ordering::Explanation& explanation, const std::string& text) {
  if (explanation.kind == ordering::Explanation::Kind::kMismatch) {
    return absl::InvalidArgumentError(text);
  }
  return absl::FailedPreconditionError(text);
}

std::atomic<uint64_t> last_instance{0};
// Whose HostComes() has seen this thread last.
thread_local uint64_t seen_by = 0;

}  // namespace

OrderedGate::OrderedGate(Options options)
    : options_(std::move(options)),
      instance_(last_instance.fetch_add(1, std::memory_order_relaxed) + 1),
      queue_(options_.queue),
      ticker_([this] { TickWhileNeeded(); }),
      thread_ends_(std::make_unique<ThreadEnds>([this](uint32_t thread) { ThreadEnded(thread); })) {
}

OrderedGate::~OrderedGate() {
  {
    const std::lock_guard lock(ticker_mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  ticker_.join();
}

void OrderedGate::OnOrder(const ordering::Order& order) {
  const std::lock_guard lock(lock_);
  const ordering::Term before = queue_.term();
  Step(ordering::FromNode{order});
  if (queue_.term() != before) ++terms_;
}

void OrderedGate::Disconnect() {
  {
    const std::lock_guard lock(lock_);
    connected_ = false;
  }
  const std::lock_guard lock(receiving_);
  may_receive_ = false;
}

void OrderedGate::Issued(engine::Operation* operation, bool reached) {
  const std::lock_guard lock(lock_);
  engine::LaunchMark& mark = operation->mark();
  uint32_t lane = 0;
  LaneState& state = StateOf(operation, &lane);
  mark.id = ++last_id_;
  Keep(operation);
  const uint32_t stream = StreamOf(*operation, state);
  const bool beside = operation->request().beside;
  if (!beside) {
    mark.position = queue_.TryLaunch(lane, state.hash, stream, mark.id);
    if (mark.position != ordering::CertifiedRun::kNotLaunched) {
      ++certified_;
      if (device_waiters_.empty()) {
        operation->LaunchHere();
      } else {
        held_.push_back(mark.id);
      }
      if (reached) queue_.ReachLaunched(mark.position);
      return;
    }
  }
  current_ = operation;
  Step(ordering::Issue{mark.id, lane, state.signature, stream, beside, ""});
  if (reached) Step(ordering::Reached{mark.id});
  current_ = nullptr;
  if (queue_.is_early() && ticker_rests_.load(std::memory_order_relaxed)) WakeTicker();
}

void OrderedGate::Reached(engine::Operation* operation) {
  const std::lock_guard lock(lock_);
  const engine::LaunchMark& mark = operation->mark();
  if (mark.position >= 0 && queue_.ReachLaunched(mark.position)) return;
  current_ = operation;
  Step(ordering::Reached{mark.id});
  current_ = nullptr;
}

void OrderedGate::Ended(engine::Operation* operation) {
  {
    const std::lock_guard lock(lock_);
    const engine::LaunchMark& mark = operation->mark();
    Forget(operation);
    if (mark.position < 0 || !queue_.CompleteLaunched(mark.position)) {
      Step(ordering::Completed{mark.id});
    }
  }
  // With lock_ let go: who waits for room takes it inside of the other.
  if (room_waiters_.load(std::memory_order_seq_cst) > 0) {
    { const std::lock_guard parking(room_mutex_); }  // a waiter is before its check or asleep
    room_.notify_all();
  }
}

void OrderedGate::HostComes(std::chrono::nanoseconds patience) {
  if (static_cast<uint64_t>(live_.load(std::memory_order_relaxed)) >= options_.queue.run_ahead) {
    AwaitRoom(patience);
  }
  if (seen_by == instance_) return;
  seen_by = instance_;
  const std::lock_guard lock(lock_);
  if (!threads_.contains(std::this_thread::get_id())) Step(ordering::HostGoesOn{ThisThread()});
}

// A rank that never waits would queue without end what its peers reach much later.
void OrderedGate::AwaitRoom(std::chrono::nanoseconds patience) {
  if (engine::InsideCallback()) return;
  const auto has_room = [this] {
    const std::lock_guard lock(lock_);
    return !queue_.MustWait(NowNs());
  };
  const Deadline deadline = Deadline::After(patience);
  constexpr Clock::duration kLongestPark = std::chrono::milliseconds(1);
  std::unique_lock parking(room_mutex_);
  room_waiters_.fetch_add(1, std::memory_order_seq_cst);
  while (!has_room() && !deadline.Passed(Clock::now())) room_.wait_for(parking, kLongestPark);
  room_waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

void OrderedGate::HostsEnd() {
  const std::lock_guard lock(lock_);
  for (const auto& [id, thread] : threads_) Step(ordering::HostEnds{thread});
  options_.logger.Info(absl::StrCat("ordering: ", certified_, " of ", last_id_,
                                    " operations launched by schedule, ", messages_,
                                    " messages sent, ", terms_, " schedules and fences"));
}

void OrderedGate::HostWaits(const engine::Operation& operation) {
  const std::lock_guard lock(lock_);
  ordering::HostWaits waits;
  waits.thread = ThisThread();
  if (operation.mark().id != 0) waits.ids.push_back(operation.mark().id);
  Step(waits);
}

void OrderedGate::HostWaitsForDevice() {
  const std::lock_guard lock(lock_);
  ordering::HostWaits waits;
  waits.thread = ThisThread();
  waits.device_wide = true;
  waits.holds_device = options_.device_wait_holds;
  const auto add = [&waits](const engine::Operation* operation) {
    if (operation != nullptr && operation->request().stream != nullptr) {
      waits.ids.push_back(operation->mark().id);
    }
  };
  for (const engine::Operation* operation : recent_) add(operation);
  for (const auto& [id, operation] : others_) add(operation);
  if (options_.device_wait_holds) device_waiters_.insert(waits.thread);
  Step(waits);
}

void OrderedGate::HostGoesOn() {
  const std::lock_guard lock(lock_);
  const uint32_t thread = ThisThread();
  Step(ordering::HostGoesOn{thread});
  if (device_waiters_.erase(thread) == 0 || !device_waiters_.empty()) return;
  for (const uint64_t id : std::exchange(held_, {})) {
    if (engine::Operation* const operation = Find(id)) operation->channel().Launch(operation);
  }
}

bool OrderedGate::AwaitLaunch(std::chrono::nanoseconds patience) {
  const std::unique_lock lock(receiving_, std::try_to_lock);
  return lock.owns_lock() && may_receive_ && options_.receive && options_.receive(patience);
}

std::string OrderedGate::Report() {
  const std::lock_guard lock(lock_);
  return report_;
}

void OrderedGate::Step(const ordering::QueueInput& input) {
  for (const ordering::QueueOutput& output : queue_.Step(input, NowNs())) Perform(output);
}

void OrderedGate::Perform(const ordering::QueueOutput& output) {
  if (const auto* launch = std::get_if<ordering::Launch>(&output)) {
    if (!launch->by_ticket) ++certified_;
    if (engine::Operation* const operation = Find(launch->id)) Launch(operation);
  } else if (const auto* up = std::get_if<ordering::ToNode>(&output)) {
    ++messages_;
    if (connected_) Send(up->report);
  } else if (const auto* failed = std::get_if<ordering::Failed>(&output)) {
    OnFailed(*failed);
  } else if (const auto* explained = std::get_if<ordering::Explained>(&output)) {
    OnExplained(*explained);
  }
}

// The queue doesn't know what only reports need.
void OrderedGate::Send(const ordering::Report& report) {
  const auto* part = std::get_if<ordering::SnapshotPart>(&report.body);
  if (part == nullptr) {
    options_.send(report);
    return;
  }
  ordering::SnapshotPart completed = *part;
  for (ordering::OpView& view : completed.snapshot.ops) {
    const engine::Operation* const operation = Find(view.id);
    if (operation != nullptr) view.call_site = CallSiteOf(operation->request());
  }
  options_.send({report.term, std::move(completed)});
}

void OrderedGate::Launch(engine::Operation* operation) {
  if (!device_waiters_.empty()) {
    held_.push_back(operation->mark().id);
  } else if (operation == current_) {
    operation->LaunchHere();
  } else {
    operation->channel().Launch(operation);
  }
}

// Of operations that disagree nobody has launched one, unless by a schedule; then the channel ends
// the view.
void OrderedGate::OnFailed(const ordering::Failed& failed) {
  if (engine::Operation* const operation = Find(failed.id)) {
    const absl::Status status = StatusOf(*failed.explanation, TextOf(*failed.explanation));
    const std::string call_site = CallSiteOf(operation->request());
    operation->channel().Refuse(
        operation, call_site.empty()
                       ? status
                       : absl::Status(status.code(),
                                      absl::StrCat(status.message(), "  issued on this rank at ",
                                                   call_site, "\n")));
  }
}

void OrderedGate::OnExplained(const ordering::Explained& explained) {
  const ordering::Explanation& explanation = *explained.explanation;
  report_ = absl::StrReplaceAll(TextOf(explanation), {{"\n", "; "}});
  options_.logger.Info(report_);  // the coordinator has printed it already
  // What waits without end is more than the operations that are refused: all that depends on them.
  const bool proven = explanation.kind == ordering::Explanation::Kind::kCycle ||
                      explanation.kind == ordering::Explanation::Kind::kDeviceWait;
  // With PHALANX_STALL_ACTION=warn nothing is aborted.
  if (proven && !explanation.aborted.empty())
    options_.abort(StatusOf(explanation, TextOf(explanation)));
}

// The others know keys by their hashes; this rank knows what it has called its own.
std::string OrderedGate::TextOf(const ordering::Explanation& explanation) const {
  std::string text = ordering::Describe(explanation);
  const auto name = [&](const ordering::Lane& lane) {
    const auto known = key_names_.find(lane.detail);
    if (lane.kind != ordering::Lane::Kind::kKey || known == key_names_.end()) return;
    const std::string hash = absl::StrCat("key ", absl::Hex(lane.detail), ",");
    absl::StrReplaceAll({{hash, absl::StrCat("key \"", known->second, "\",")}}, &text);
  };
  for (const ordering::Explanation::Line& line : explanation.lines) {
    name(line.op.lane);
    if (line.waits_for.has_value()) name(line.waits_for->lane);
  }
  return text;
}

OrderedGate::LaneState& OrderedGate::StateOf(engine::Operation* operation, uint32_t* lane) {
  const engine::Request& request = operation->request();
  uint32_t& memory = *operation->mark().lane;
  if (memory == 0) {
    memory = queue_.LaneOf(LaneOf(operation->channel(), request)) + 1;
    if (memory > lanes_.size()) lanes_.resize(memory);
    lanes_[memory - 1].stream = next_stream_++;
    if (request.key != nullptr) key_names_[request.key->hash] = request.key->name;
  }
  *lane = memory - 1;
  LaneState& state = lanes_[*lane];
  ordering::Signature signature = engine::SignatureOf(request);
  if (request.key != nullptr && request.key->name == engine::kSplitKey) {
    signature.kind = ordering::OpKind::kSplit;
  }
  if (state.hash == 0 || signature != state.signature) {
    state.signature = signature;
    state.hash = ordering::HashOf(signature);
  }
  return state;
}

uint32_t OrderedGate::StreamOf(const engine::Operation& operation, const LaneState& lane) {
  const device::Stream* const stream = operation.request().stream;
  if (stream == nullptr) return lane.stream;
  const auto [found, is_new] = streams_.emplace(stream, next_stream_);
  if (is_new) ++next_stream_;
  return found->second;
}

uint32_t OrderedGate::ThisThread() {
  const auto [found, is_new] = threads_.emplace(std::this_thread::get_id(), next_thread_);
  if (is_new) thread_ends_->Watch(next_thread_++);
  return found->second;
}

// On the thread itself. Its id may be another one's next.
void OrderedGate::ThreadEnded(uint32_t thread) {
  const std::lock_guard lock(lock_);
  threads_.erase(std::this_thread::get_id());
  Step(ordering::HostEnds{thread});
}

engine::Operation* OrderedGate::Find(uint64_t id) {
  engine::Operation* const recent = recent_[id % kRecent];
  if (recent != nullptr && recent->mark().id == id) return recent;
  const auto found = others_.find(id);
  return found == others_.end() ? nullptr : found->second;
}

void OrderedGate::Keep(engine::Operation* operation) {
  const uint64_t id = operation->mark().id;
  engine::Operation*& recent = recent_[id % kRecent];
  if (recent == nullptr) {
    recent = operation;
  } else {
    others_.emplace(id, operation);
  }
  live_.store(live_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (ticker_sleeps_.load(std::memory_order_relaxed)) {
    ticker_sleeps_.store(false, std::memory_order_relaxed);
    WakeTicker();
  }
}

void OrderedGate::Forget(engine::Operation* operation) {
  const uint64_t id = operation->mark().id;
  engine::Operation*& recent = recent_[id % kRecent];
  if (recent == operation) {
    recent = nullptr;
  } else {
    others_.erase(id);
  }
  live_.store(live_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// With lock_ held.
void OrderedGate::WakeTicker() {
  ticker_rests_.store(false, std::memory_order_relaxed);
  {
    const std::lock_guard lock(ticker_mutex_);
    awake_ = true;
  }
  wake_.notify_one();
}

void OrderedGate::TickWhileNeeded() {
  int idle_ticks = 0;
  Clock::duration pause = kTick;
  std::unique_lock parking(ticker_mutex_);
  const auto called = [this] { return stopping_ || awake_; };
  while (true) {
    if (idle_ticks < kTicksBeforeSleep) {
      wake_.wait_for(parking, pause, called);
    } else {
      wake_.wait(parking, called);
    }
    if (stopping_) return;
    if (std::exchange(awake_, false)) idle_ticks = 0;
    parking.unlock();
    {
      const std::lock_guard lock(lock_);
      Step(ordering::Tick{});
      idle_ticks = live_ > 0 ? 0 : idle_ticks + 1;
      pause = queue_.is_early() ? kShortTick : kTick;
      ticker_sleeps_.store(idle_ticks >= kTicksBeforeSleep, std::memory_order_relaxed);
      ticker_rests_.store(pause == kTick, std::memory_order_relaxed);
    }
    parking.lock();
  }
}

}  // namespace phalanx::launch
