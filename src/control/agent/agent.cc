#include "control_agent/agent.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "control_process/spawn.h"
#include "control_protocol/job.h"
#include "node.h"

namespace phalanx::control {
namespace {

std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    return absl::StrCat("was killed by signal ", signal,
                        name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
  }
  return absl::StrCat("exited with code ", WEXITSTATUS(wait_status), " without leaving the job");
}

class AgentImpl final : public Agent {
 public:
  AgentImpl(AgentOptions options, std::unique_ptr<TlsContext> tls, AgentEvents* events)
      : events_(events),
        socket_name_(options.socket_name),
        tls_(std::move(tls)),
        context_(std::make_unique<asio::io_context>(1)),
        node_(std::make_unique<Node>(*context_, options, tls_.get(), events)) {}
  ~AgentImpl() override { Stop(Deadline::After(Clock::duration::zero())); }

  absl::Status Open() {
    PHX_RETURN_IF_ERROR(node_->Open());
    asio::post(*context_, [this] { node_->Start(); });
    thread_ = std::thread([this] {
      const auto guard = asio::make_work_guard(*context_);
      context_->run();
    });
    return absl::OkStatus();
  }

  const std::string& socket_name() const override { return socket_name_; }

  void WorkerExited(pid_t pid, int wait_status) override {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr) return;
    asio::post(*context_, [this, pid, wait_status] {
      const bool lost = node_->WorkerExited(pid, DescribeExit(wait_status));
      if (!lost) events_->OnEndedOutside(pid, wait_status);
    });
  }

  void SpareExited(pid_t pid, const std::string& how) override {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr) return;
    asio::post(*context_, [this, pid, how] { node_->SpareExited(pid, how); });
  }

  void SetPaused(bool paused) override {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr) return;
    asio::post(*context_, [this, paused] { node_->SetPaused(paused); });
  }

  void Stop(Deadline deadline) override {
    if (thread_.joinable()) {
      constexpr Clock::duration kLongest = std::chrono::hours(1);  // adds to any time
      const Clock::duration timeout = std::min(deadline.Left(Clock::now()), kLongest);
      auto finished = std::make_shared<std::promise<void>>();
      std::future<void> finish = finished->get_future();
      asio::post(*context_, [this, timeout, finished] {
        node_->Finish(timeout, [finished] { finished->set_value(); });
      });
      finish.wait_for(timeout);
      context_->stop();
      thread_.join();
    }
    const std::lock_guard lock(mutex_);
    node_.reset();
    // What was under way still holds sockets; they close now.
    context_.reset();
  }

 private:
  AgentEvents* const events_;
  const std::string socket_name_;
  const std::unique_ptr<TlsContext> tls_;
  std::mutex mutex_;  // guards the end of context_ against WorkerExited()
  std::unique_ptr<asio::io_context> context_;
  std::unique_ptr<Node> node_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(AgentOptions options, AgentEvents* events) {
  PHX_RETURN_IF_ERROR(ValidateJobId(options.job));
  if (options.socket_name.empty()) {
    constexpr size_t kRandomBytes = 8;
    options.socket_name = absl::StrCat("phalanx/", options.job, "/",
                                       absl::BytesToHexString(RandomBytes(kRandomBytes)));
  }
  constexpr size_t kMostNameBytes = 107;  // of a Unix address, without the leading zero byte
  if (options.socket_name.size() > kMostNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the agent's socket name is longer than ", kMostNameBytes, " bytes"));
  }
  PHX_ASSIGN_OR_RETURN(std::unique_ptr<TlsContext> tls,
                       TlsContext::Make(TlsContext::Side::kClient, options.job, options.key));
  auto agent = std::make_unique<AgentImpl>(std::move(options), std::move(tls), events);
  PHX_RETURN_IF_ERROR(agent->Open());
  return std::unique_ptr<Agent>(std::move(agent));
}

}  // namespace phalanx::control
