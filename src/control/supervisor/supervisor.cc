#include "control_supervisor/supervisor.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "asio/error_code.hpp"
#include "asio/signal_set.hpp"
#include "asio/steady_timer.hpp"
#include "base/status_macros.h"
#include "control_supervisor/ending.h"
#include "control_supervisor/output_sink.h"
#include "control_supervisor/process_end.h"
#include "control_supervisor/strays.h"
#include "control_supervisor/worker_group.h"

namespace phalanx::control {
namespace {

constexpr int kHandledSignals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                   SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
constexpr auto kStrayDeadline = std::chrono::seconds(2);

bool EndsJob(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

class SupervisorImpl : public Supervisor, private WorkerGroupEvents {
 public:
  SupervisorImpl(asio::io_context& loop, SupervisorOptions options, SupervisorEvents* events)
      : options_(std::move(options)),
        events_(events),
        sinks_(OutputSink::CreatePair(loop, options_.output_fd, options_.error_fd)),
        signals_(loop),
        child_signal_(loop),
        timer_(loop),
        ending_(options_.grace, options_.hearing, options_.lost_exit_code, options_.replaces),
        group_(loop, sinks_, options_.keeper, this) {}

  absl::Status Start() override;
  absl::Status Add(const SupervisedWorker& worker) override;
  void HandleSignal(int signal) override;
  void OnLost() override;
  void OnNotReplaced() override;
  void OnFailuresSettled() override { ending_.OnFailuresSettled(); }
  void OnJobEnded() override;
  void OnNeeded(pid_t pid) override { needed_.insert(pid); }
  void OnDispensable(int rank) override;
  void OnFailureElsewhere() override;
  void Tell(const std::string& line) override { group_.Tell(line); }
  void OnAbandoned() override;
  void AddBystander(pid_t pid) override { options_.bystanders.insert(pid); }
  bool ending() const override { return ending_.ending(); }
  bool lost_elsewhere() const override { return ending_.lost_elsewhere(); }

 private:
  void OnWorkerEnded(int rank, pid_t pid, int wait_status) override;
  void OnOutputEnded() override { CheckEnded(); }

  void CatchSignals();
  void AwaitSignal();
  void AwaitOrphans();
  void Obey();
  void CheckEnded();
  void Finish();
  std::set<pid_t> Ours() const;
  absl::Status StartOne(const SupervisedWorker& worker);
  bool IsNeeded(int rank, pid_t pid) const;

  SupervisorOptions options_;
  SupervisorEvents* events_;
  OutputSink::Pair sinks_;
  asio::signal_set signals_;
  asio::signal_set child_signal_;
  asio::steady_timer timer_;
  Ending ending_;
  WorkerGroup group_;
  std::set<int> waiting_;   // ranks of those that began without a place in the job
  std::set<pid_t> needed_;  // that have one
  std::set<int> dispensable_;
  bool started_ = false;
  bool swept_ = false;
  bool finished_ = false;
};

absl::Status SupervisorImpl::Start() {
  std::signal(SIGPIPE, SIG_IGN);
  AdoptOrphans();
  CatchSignals();
  for (const SupervisedWorker& worker : options_.workers) {
    const absl::Status status = StartOne(worker);
    if (status.ok()) continue;
    finished_ = true;
    group_.Signal(SIGKILL);
    signals_.clear();
    child_signal_.clear();
    return status;
  }
  started_ = true;
  return absl::OkStatus();
}

absl::Status SupervisorImpl::Add(const SupervisedWorker& worker) {
  if (finished_ || swept_ || ending_.ending()) return absl::OkStatus();
  return StartOne(worker);
}

absl::Status SupervisorImpl::StartOne(const SupervisedWorker& worker) {
  if (worker.waits) waiting_.insert(worker.rank);
  return group_.Start(worker.rank, worker.label, worker.request, worker.input);
}

// A signal that whoever started us had ignored (nohup, a shell's background job) stays ignored.
void SupervisorImpl::CatchSignals() {
  for (const int signal : kHandledSignals) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    asio::error_code ignored;
    signals_.add(signal, ignored);
  }
  asio::error_code ignored;
  child_signal_.add(SIGCHLD, ignored);
  AwaitSignal();
  AwaitOrphans();
}

void SupervisorImpl::AwaitSignal() {
  signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    AwaitSignal();
    HandleSignal(signal);
    // The workers are in groups of their own, so the terminal's Ctrl-Z reaches us alone.
    if (signal == SIGTSTP) kill(getpid(), SIGSTOP);
  });
}

void SupervisorImpl::AwaitOrphans() {
  child_signal_.async_wait([this](const asio::error_code& error, int) {
    if (error) return;
    AwaitOrphans();
    ReapEndedStrays(Ours());
  });
}

void SupervisorImpl::HandleSignal(int signal) {
  if (finished_) return;
  if (EndsJob(signal) && group_.alive() == 0) {
    if (ending_.awaits_others()) ending_.OnEndSignal(signal, Clock::now());
    // Only output that nobody takes keeps us.
    sinks_.output->Abandon();
    sinks_.error->Abandon();
    group_.EndOutputs();
    return CheckEnded();
  }
  if (EndsJob(signal)) {
    ending_.OnEndSignal(signal, Clock::now());
    Obey();
  } else {
    group_.Signal(signal);
  }
}

void SupervisorImpl::OnLost() {
  ending_.OnLost(Clock::now());
  Obey();
  CheckEnded();
}

void SupervisorImpl::OnNotReplaced() {
  ending_.OnNotReplaced(Clock::now());
  Obey();
  CheckEnded();
}

void SupervisorImpl::OnFailureElsewhere() {
  ending_.OnFailureElsewhere(Clock::now());
  Obey();
  CheckEnded();
}

void SupervisorImpl::OnJobEnded() {
  ending_.OnJobEnded();
  CheckEnded();
}

void SupervisorImpl::OnAbandoned() {
  ending_.OnAbandoned();
  Obey();
  CheckEnded();
}

void SupervisorImpl::OnWorkerEnded(int rank, pid_t pid, int wait_status) {
  if (finished_) return;
  const ProcessEnd end = ProcessEnd::From(wait_status);
  events_->OnWorkerEnded(rank, pid, wait_status);
  if (dispensable_.count(rank) > 0) return CheckEnded();
  if (ending_.OnWorkerEnded(end, Clock::now(), IsNeeded(rank, pid))) {
    events_->OnFirstFailure(rank, pid, end, group_.alive());
  }
  Obey();
  CheckEnded();
}

void SupervisorImpl::Obey() {
  const Ending::Orders orders = ending_.Take();
  for (const int signal : orders.signals) {
    if (signal == SIGKILL && group_.alive() > 0) {
      options_.logger.Warning(absl::StrCat("killing ", group_.alive(), " of ",
                                           options_.workers.size(), " processes that go on"));
    }
    group_.Signal(signal);
  }
  timer_.cancel();
  if (!orders.wake_at) return;
  timer_.expires_at(*orders.wake_at);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error || finished_) return;
    ending_.OnTime(Clock::now());
    Obey();
  });
}

void SupervisorImpl::OnDispensable(int rank) {
  dispensable_.insert(rank);
  CheckEnded();
}

void SupervisorImpl::CheckEnded() {
  if (finished_ || !started_) return;
  if (group_.alive() > 0) {
    if (group_.AliveWithout(dispensable_) == 0) group_.Signal(SIGKILL);
    return;
  }
  if (options_.stays && ending_.awaits_others()) return;
  if (!swept_) {
    swept_ = true;
    const int left = KillStrays(Ours(), Deadline::After(kStrayDeadline));
    if (left > 0) {
      options_.logger.Error(absl::StrCat(left, " processes of the job can't be killed"));
    }
    // With everybody dead, only a process outside the job can hold a pipe open.
    if (group_.outputs_open() > 0) return group_.EndOutputs();
  }
  if (group_.outputs_open() > 0) return;
  if (!sinks_.output->empty()) return sinks_.output->WhenEmpty([this] { CheckEnded(); });
  if (!sinks_.error->empty()) return sinks_.error->WhenEmpty([this] { CheckEnded(); });
  Finish();
}

void SupervisorImpl::Finish() {
  finished_ = true;
  timer_.cancel();
  signals_.clear();
  child_signal_.clear();
  signals_.cancel();
  child_signal_.cancel();
  events_->OnEnded(ending_.ExitCode());
}

bool SupervisorImpl::IsNeeded(int rank, pid_t pid) const {
  return waiting_.count(rank) == 0 || needed_.count(pid) > 0;
}

std::set<pid_t> SupervisorImpl::Ours() const {
  std::set<pid_t> ours = group_.pids();
  ours.insert(options_.bystanders.begin(), options_.bystanders.end());
  if (options_.keeper != nullptr) ours.insert(options_.keeper->pid());
  return ours;
}

}  // namespace

std::unique_ptr<Supervisor> Supervisor::Create(asio::io_context& loop, SupervisorOptions options,
                                               SupervisorEvents* events) {
  return std::make_unique<SupervisorImpl>(loop, std::move(options), events);
}

}  // namespace phalanx::control
