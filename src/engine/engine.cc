#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/stream_units.h"

namespace phalanx::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long an operation whose caller usually waits at once may lie before the engine drives it.
constexpr Clock::duration kTick = milliseconds(1);
// Quiet ticks after which the thread parks until it is woken.
constexpr int kTicksBeforePark = 20;
// How long it rests when several channels wait for their peers and it can't sleep inside all of
// them.
constexpr Clock::duration kBlockedRest = microseconds(50);
// How long the thread sleeps inside a channel while it is that channel's driver.
constexpr Clock::duration kDrivePatience = microseconds(200);

}  // namespace

Engine::Engine(EngineConfig config)
    : config_(std::move(config)),
      stream_units_(std::make_unique<StreamUnits>()),
      thread_([this] { Loop(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(sleep_mutex_);
    stopping_ = true;
  }
  sleep_condition_.notify_all();
  thread_.join();
}

std::shared_ptr<Channel> Engine::OpenChannel(ChannelConfig config) {
  auto channel = std::make_shared<Channel>(std::move(config), this);
  absl::Status aborted;
  {
    const std::lock_guard lock(channels_mutex_);
    channels_.push_back({channel});
    aborted = abort_status_;
  }
  if (!aborted.ok()) channel->Abort(aborted);
  return channel;
}

void Engine::CloseChannel(const std::shared_ptr<Channel>& channel) {
  const std::lock_guard lock(channels_mutex_);
  for (Entry& entry : channels_) entry.closing |= entry.channel == channel;
}

void Engine::Abort(const absl::Status& status) {
  {
    const std::lock_guard lock(channels_mutex_);
    if (!abort_status_.ok()) return;
    abort_status_ = status;
  }
  // Channels first, so that their operations end with `status` and not with what the wires then
  // say.
  for (const auto& channel : Channels()) channel->Abort(status);
  for (spi::Wire* wire : config_.wires) wire->Abort(status);
  Notify(/*urgent=*/true);
}

absl::Status Engine::abort_status() {
  const std::lock_guard lock(channels_mutex_);
  return abort_status_;
}

absl::Status Engine::Drain(Deadline deadline) {
  while (pending() > 0) {
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError(
          absl::StrCat(pending(), " operations are still in flight"));
    }
    Notify(/*urgent=*/true);
    for (const auto& channel : Channels()) channel->Drive(kTick);
  }
  return absl::OkStatus();
}

int64_t Engine::pending() {
  int64_t sum = 0;
  for (const auto& channel : Channels()) sum += channel->pending();
  return sum;
}

absl::StatusOr<spi::Link*> Engine::LinkTo(int rank) {
  const std::lock_guard lock(links_mutex_);
  std::unique_ptr<spi::Link>& link = links_[rank];
  if (link == nullptr) {
    const Route& route = config_.routes[static_cast<size_t>(rank)];
    if (route.wire == nullptr) {
      return absl::UnavailableError(absl::StrCat("no transport reaches rank ", rank));
    }
    PHX_ASSIGN_OR_RETURN(link, route.wire->Connect(route.peer, route.address));
  }
  return link.get();
}

std::vector<std::shared_ptr<Channel>> Engine::Channels() {
  const std::lock_guard lock(channels_mutex_);
  std::vector<std::shared_ptr<Channel>> channels;
  channels.reserve(channels_.size());
  for (const Entry& entry : channels_) channels.push_back(entry.channel);
  return channels;
}

void Engine::Notify(bool urgent) {
  const Sleep sleep = sleep_.load(std::memory_order_seq_cst);
  if (sleep == Sleep::kAwake || (sleep == Sleep::kTicking && !urgent)) return;
  {
    const std::lock_guard lock(sleep_mutex_);
    woken_ = true;
  }
  sleep_condition_.notify_one();
}

void Engine::Loop() {
  Occasion occasion = Occasion::kTick;
  while (true) {
    const Outcome outcome = Turn(occasion);
    Reap();
    std::unique_lock lock(sleep_mutex_);
    if (stopping_) return;
    if (outcome == Outcome::kIdle) {
      occasion = Rest(outcome, lock);
    } else {
      occasion = Occasion::kUrgent;  // what we drive now is ours until it is done
      if (outcome == Outcome::kBlocked) Rest(outcome, lock);
    }
    if (stopping_) return;
  }
}

Engine::Occasion Engine::Rest(Outcome outcome, std::unique_lock<std::mutex>& lock) {
  const auto awake = [this] { return woken_ || stopping_; };
  const bool park = outcome == Outcome::kIdle && quiet_ticks_ >= kTicksBeforePark;
  sleep_.store(park ? Sleep::kParked : Sleep::kTicking, std::memory_order_seq_cst);
  if (!park) {
    sleep_condition_.wait_for(lock, outcome == Outcome::kIdle ? kTick : kBlockedRest, awake);
  } else {
    // An operation issued while we were still awake woke nobody.
    lock.unlock();
    const bool forgotten = pending() > 0;
    lock.lock();
    if (!forgotten) sleep_condition_.wait(lock, awake);
  }
  const bool woken = std::exchange(woken_, false);
  sleep_.store(Sleep::kAwake, std::memory_order_seq_cst);
  return woken ? Occasion::kUrgent : Occasion::kTick;
}

// One look at every channel. At a tick, a channel that has completed something since the last one
// is left alone: its caller is at work and between two looks of its own.
Engine::Outcome Engine::Turn(Occasion occasion) {
  const bool tick = occasion == Occasion::kTick;
  bool quiet = true;
  std::vector<std::shared_ptr<Channel>> unattended;
  {
    const std::lock_guard lock(channels_mutex_);
    for (Entry& entry : channels_) {
      const bool pending = entry.channel->pending() > 0;
      const uint64_t completed = entry.channel->completed();
      const bool at_work =
          tick && std::exchange(entry.completed_at_last_tick, completed) != completed;
      quiet &= !at_work && !pending;
      if (pending && !at_work && !entry.channel->attended()) unattended.push_back(entry.channel);
    }
  }
  bool moved = false;
  const Clock::duration patience =
      unattended.size() == 1 ? kDrivePatience : Clock::duration::zero();
  for (const auto& channel : unattended) {
    if (tick) channel->ForgetHabit();
    moved |= channel->Drive(patience);
  }
  if (tick) {
    // A message that a sender's wire still holds moves on after its operation is done.
    for (spi::Wire* wire : config_.wires) moved |= wire->Progress();
    quiet_ticks_ = quiet ? quiet_ticks_ + 1 : 0;
  }
  if (moved) return Outcome::kMoved;
  return unattended.empty() ? Outcome::kIdle : Outcome::kBlocked;
}

void Engine::Reap() {
  const std::lock_guard lock(channels_mutex_);
  channels_.erase(std::remove_if(channels_.begin(), channels_.end(),
                                 [](const Entry& entry) {
                                   return entry.closing && entry.channel.use_count() == 1 &&
                                          entry.channel->quiescent();
                                 }),
                  channels_.end());
}

}  // namespace phalanx::engine
