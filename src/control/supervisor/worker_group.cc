#include "control_supervisor/worker_group.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "asio/posix/stream_descriptor.hpp"
#include "base/status_macros.h"
#include "stream_relay.h"

namespace phalanx::control {
namespace {

// The group is killed while its leader is still a zombie: until the leader is reaped, nobody else's
// group can have its number.
int KillGroupAndReap(pid_t pid, Keeper* keeper) {
  kill(-pid, SIGKILL);
  if (keeper != nullptr) keeper->Remove(pid);
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return wait_status;
}

}  // namespace

struct WorkerGroup::Worker {
  Worker(asio::io_context& loop, SpawnedProcess& process)
      : pid(process.pid), pidfd(loop, process.pidfd.Release()) {}

  const pid_t pid;
  asio::posix::stream_descriptor pidfd;
  Fd input_fd;                        // its end tells the worker that we are gone
  std::shared_ptr<OutputSink> input;  // null unless it has a pipe
};

WorkerGroup::WorkerGroup(asio::io_context& loop, OutputSink::Pair sinks, Keeper* keeper,
                         WorkerGroupEvents* events)
    : loop_(loop), sinks_(std::move(sinks)), keeper_(keeper), events_(events) {}

WorkerGroup::~WorkerGroup() {
  for (const auto& [rank, worker] : workers_) KillGroupAndReap(worker->pid, keeper_);
}

absl::Status WorkerGroup::Start(int rank, const std::string& label, const SpawnRequest& request,
                                const std::string& input) {
  PHX_ASSIGN_OR_RETURN(SpawnedProcess process, SpawnChild(request));
  if (keeper_ != nullptr) keeper_->Add(process.pid);
  auto worker = std::make_unique<Worker>(loop_, process);
  if (request.input == ChildInput::kPipe) {
    worker->input_fd = std::move(process.input);
    worker->input = OutputSink::Create(loop_, worker->input_fd.get());
    worker->input->Write(input);
  }
  Relay(std::move(process.output), label, sinks_.output);
  Relay(std::move(process.error), label, sinks_.error);
  AwaitEnd(rank, worker.get());
  workers_[rank] = std::move(worker);
  return absl::OkStatus();
}

void WorkerGroup::Relay(Fd source, const std::string& label, std::shared_ptr<OutputSink> sink) {
  // The relay lives until its `done`, which forgets it here.
  auto slot = std::make_shared<std::weak_ptr<StreamRelay>>();
  auto relay = std::make_shared<StreamRelay>(loop_, std::move(source), LineLabeller(label),
                                             std::move(sink), [this, slot] {
                                               relays_.erase(slot->lock());
                                               events_->OnOutputEnded();
                                             });
  *slot = relay;
  relays_.insert(relay);
  relay->Start();
}

void WorkerGroup::AwaitEnd(int rank, Worker* worker) {
  worker->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this, rank](const asio::error_code& error) {
                             if (!error) Reap(rank);
                           });
}

void WorkerGroup::Reap(int rank) {
  const auto found = workers_.find(rank);
  if (found == workers_.end()) return;
  const pid_t pid = found->second->pid;
  if (found->second->input != nullptr) found->second->input->Abandon();
  workers_.erase(found);
  events_->OnWorkerEnded(rank, pid, KillGroupAndReap(pid, keeper_));
}

void WorkerGroup::Signal(int signal) {
  for (const auto& [rank, worker] : workers_) {
    if (worker->input != nullptr && signal != SIGKILL) {
      worker->input->Write(absl::StrCat("signal ", signal, "\n"));
    } else {
      kill(-worker->pid, signal);
    }
  }
}

void WorkerGroup::Tell(const std::string& line) {
  for (const auto& [rank, worker] : workers_) {
    if (worker->input != nullptr) worker->input->Write(line + "\n");
  }
}

int WorkerGroup::AliveWithout(const std::set<int>& ranks) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return ranks.count(worker.first) == 0;
  }));
}

std::set<pid_t> WorkerGroup::pids() const {
  std::set<pid_t> pids;
  for (const auto& [rank, worker] : workers_) pids.insert(worker->pid);
  return pids;
}

void WorkerGroup::EndOutputs() {
  for (const std::shared_ptr<StreamRelay>& relay : std::set(relays_)) relay->EndNow();
}

}  // namespace phalanx::control
