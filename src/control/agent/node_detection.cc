// The node's fifth part: it watches whether its workers go on, and kills those who are evicted.
#include <signal.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control_process/process_descriptor.h"
#include "node.h"

namespace phalanx::control {
namespace {

// What the coordinator is called in coordinator_silence_.
constexpr uint64_t kCoordinator = 0;

std::string Seconds(Clock::duration duration) {
  return absl::StrFormat("%.1f s", std::chrono::duration<double>(duration).count());
}

}  // namespace

void Node::StartWatch() {
  watch_timer_.expires_after(WorkerWatch::kTickInterval);
  watch_timer_.async_wait([this](const asio::error_code& error) {
    if (error || phase_ == Phase::kOver || done_ != nullptr) return;
    WatchTick(Clock::now());
    StartWatch();
  });
}

void Node::WatchTick(Clock::time_point now) {
  if (welcomed_) {
    link_.Send(message::Heartbeat{});
  } else {
    coordinator_silence_.Forget(kCoordinator);
  }
  for (const uint64_t silent : coordinator_silence_.Tick(now)) {
    options_.logger.Warning(
        absl::StrCat("the coordinator has said nothing for ",
                     Seconds(coordinator_silence_.SilentFor(silent, now)),
                     " although its connection is open; the workers of this node go on"));
  }
  // What nobody hears now is said again.
  if (paused_ || !welcomed_) return;
  for (auto& [id, worker] : workers_) {
    if (worker.connection == nullptr || !IsAwaited(worker)) {
      watch_.Forget(id);
      continue;
    }
    watch_.Watch(id, worker.pid, now);
    if (worker.state != State::kMember) watch_.StopsBeating(id);
  }
  const WorkerWatch::Findings findings = watch_.Tick(now);
  for (const WorkerWatch::Silent& silent : findings.silent) {
    link_.Send(message::MemberSilent{workers_.at(silent.worker).incarnation, silent.how});
  }
  for (const WorkerWatch::Awake& awake : findings.awake) TellAwake(awake);
  for (const uint64_t id : findings.starved) {
    const Worker& worker = workers_.at(id);
    options_.logger.Warning(absl::StrCat(
        "rank ", worker.rank, " (pid ", worker.pid, ") has said nothing for ",
        Seconds(WorkerWatch::kStarvedAfter),
        " although it isn't stopped: is the machine overloaded? It is not evicted for that"));
  }
}

void Node::TellAwake(const WorkerWatch::Awake& awake) {
  const auto silent_for = std::chrono::duration_cast<std::chrono::milliseconds>(awake.silent_for);
  link_.Send(message::MemberHeard{workers_.at(awake.worker).incarnation,
                                  static_cast<uint64_t>(silent_for.count())});
}

void Node::OnWorkerHeartbeat(uint64_t id) {
  if (workers_.at(id).state != State::kMember) return;
  if (const auto awake = watch_.Hear(id, Clock::now())) TellAwake(*awake);
}

void Node::HearCoordinator() {
  const auto silent_for = coordinator_silence_.Hear(kCoordinator, Clock::now());
  if (!silent_for.has_value()) return;
  options_.logger.Warning(
      absl::StrCat("the coordinator answers again after ", Seconds(*silent_for)));
}

void Node::OnWelcome(const message::AgentWelcome& welcome) {
  node_ = welcome.node;
  welcomed_ = true;
  coordinator_silence_.Watch(kCoordinator, Clock::now());
}

// While the owner has stopped the workers itself nobody of them is frozen. Afterwards the watch
// finds that it comes late, and gives them all a whole period.
void Node::SetPaused(bool paused) { paused_ = paused; }

void Node::OpenProcess(Worker& worker) {
  Fd process = control::OpenProcess(worker.pid);
  if (!process.valid()) return;
  asio::error_code ignored;
  worker.process.assign(process.Release(), ignored);
}

// A child of the worker's may hold its socket open beyond its death; the process itself tells.
void Node::WatchProcess(uint64_t id, Worker& worker) {
  if (!worker.process.is_open()) return;
  worker.process.async_wait(asio::posix::stream_descriptor::wait_read,
                            [this, id](const asio::error_code& stopped) {
                              if (!stopped) OnProcessEnded(id, "ended without leaving the job");
                            });
}

// From here on nothing that it says counts, and it is lost once it has been seen to end.
void Node::OnEvict(const message::Evict& evict) {
  for (auto& [id, worker] : workers_) {
    if (worker.incarnation != evict.incarnation || !IsAwaited(worker)) continue;
    worker.evicted = evict.why;
    if (!worker.process.is_open() && worker.connection != nullptr) OpenProcess(worker);
    const absl::Status killed = SignalProcess(worker.process.native_handle(), SIGKILL);
    if (!killed.ok()) {
      options_.logger.Error(
          absl::StrCat("can't kill the evicted pid ", worker.pid, ": ", killed.message()));
    }
    if (options_.supervised) WatchProcess(id, worker);
    return;
  }
}

// The job goes on without them.
void Node::KillWorkers() {
  for (auto& [id, worker] : workers_) {
    if (!IsAwaited(worker) || !worker.process.is_open()) continue;
    const absl::Status killed = SignalProcess(worker.process.native_handle(), SIGKILL);
    if (!killed.ok()) options_.logger.Error(std::string(killed.message()));
  }
}

void Node::OnAskWitness(const message::AskWitness& ask) {
  checkpoints_.ProbePeer(ask.peers, std::chrono::milliseconds(ask.wait_ms),
                         [this, ask](bool heard) {
                           if (phase_ == Phase::kOver) return;
                           link_.Send(message::WitnessSays{ask.suspect, ask.round, heard});
                         });
}

void Node::OnFaultPerformed(uint64_t id, const message::FaultPerformed& fault) {
  // Its view may be over already.
  const State state = workers_.at(id).state;
  if (state != State::kMember && state != State::kReturning) return;
  SayAlways(fault);
  if (fault.continue_after_ms == 0) return;
  constexpr int kTries = 500;
  ContinueLater(id, std::chrono::milliseconds(fault.continue_after_ms), kTries);
}

// The worker has said that it is about to stop; until it has, SIGCONT would be lost.
void Node::ContinueLater(uint64_t id, Clock::duration delay, int tries) {
  auto timer = std::make_shared<asio::steady_timer>(context_, delay);
  timer->async_wait([this, id, tries, timer](const asio::error_code& error) {
    const auto found = workers_.find(id);
    if (error || found == workers_.end() || tries == 0) return;
    if (StateOf(found->second.pid) != ProcessState::kStopped) {
      constexpr auto kRetry = std::chrono::milliseconds(10);
      return ContinueLater(id, kRetry, tries - 1);
    }
    const absl::Status sent = SignalProcess(found->second.process.native_handle(), SIGCONT);
    if (!sent.ok()) {
      options_.logger.Error(
          absl::StrCat("can't continue pid ", found->second.pid, ": ", sent.message()));
    }
  });
}

}  // namespace phalanx::control
