// A whole job in one process: coordinator and agents on threads, clients wherever the test wants.
#ifndef PHALANX_TESTS_UNIT_CONTROL_JOB_FIXTURE_H_
#define PHALANX_TESTS_UNIT_CONTROL_JOB_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "control_agent/agent.h"
#include "control_channel/job_key.h"
#include "control_client/client.h"
#include "control_coordinator/process.h"
#include "control_process/listen.h"
#include "control_process/spawn.h"

namespace phalanx::control {

inline constexpr auto kPatience = std::chrono::seconds(30);

// A value that another thread sets once and the test waits for.
template <typename T>
class Box {
 public:
  void Set(T value) {
    const std::lock_guard lock(mutex_);
    if (!value_.has_value()) value_ = std::move(value);
    set_.notify_all();
  }
  std::optional<T> Wait() {
    std::unique_lock lock(mutex_);
    set_.wait_for(lock, kPatience, [this] { return value_.has_value(); });
    return value_;
  }
  bool has_value() {
    const std::lock_guard lock(mutex_);
    return value_.has_value();
  }

 private:
  std::mutex mutex_;
  std::condition_variable set_;
  std::optional<T> value_;
};

// Lines of a log, for looking into.
class LogBook {
 public:
  Logger logger() {
    return Logger([this](LogSeverity, const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      changed_.notify_all();
    });
  }
  // Waits for a line that contains `text`.
  bool Has(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] {
      for (const std::string& line : lines_) {
        if (line.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }
  std::string Text() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

struct AgentBox : AgentEvents {
  void OnRevoked(const absl::Status& reason) override { revoked.Set(reason); }
  void OnJobOver(const absl::Status& status) override { over.Set(status); }
  Box<absl::Status> revoked;
  Box<absl::Status> over;
};

struct ClientBox : ClientEvents {
  void OnRevoked(const absl::Status& reason, bool another_follows) override {
    goes_on.Set(another_follows);
    revoked.Set(reason);
  }
  void OnAgentLost() override { agent_lost.Set(true); }
  Box<bool> goes_on;
  Box<absl::Status> revoked;
  Box<bool> agent_lost;
};

class JobFixture : public ::testing::Test {
 protected:
  static JobKey Key(const std::string& secret = "a secret of at least sixteen bytes") {
    return *DeriveKey(secret);
  }

  void StartCoordinator(Clock::duration join_timeout = kPatience,
                        Clock::duration handshake_timeout = std::chrono::seconds(10)) {
    absl::StatusOr<Listener> listener = Listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener.ok()) << listener.status();
    endpoint_ = listener->endpoint;
    CoordinatorOptions options;
    options.job = job_;
    options.key = Key();
    options.listen_fd = listener->fd.Release();
    options.join_timeout = join_timeout;
    options.handshake_timeout = handshake_timeout;
    options.logger = coordinator_log_.logger();
    coordinator_ =
        std::thread([this, options] { coordinator_result_.Set(RunCoordinator(options)); });
  }

  AgentOptions MakeAgentOptions(bool supervised) {
    AgentOptions options;
    options.job = job_;
    options.key = Key();
    options.coordinator = endpoint_;
    options.node_name = "host" + std::to_string(agents_.size());
    options.cores = 3;
    options.supervised = supervised;
    options.logger = agent_log_.logger();
    return options;
  }

  void StartAgent(AgentOptions options) {
    agent_events_.push_back(std::make_unique<AgentBox>());
    absl::StatusOr<std::unique_ptr<Agent>> agent =
        Agent::Start(std::move(options), agent_events_.back().get());
    ASSERT_TRUE(agent.ok()) << agent.status();
    agents_.push_back(*std::move(agent));
  }
  void StartAgent() { StartAgent(MakeAgentOptions(false)); }

  std::unique_ptr<Client> Connect(size_t agent = 0) {
    absl::StatusOr<std::unique_ptr<Client>> client =
        Client::Connect(agents_[agent]->socket_name(), Logger(), Deadline::After(kPatience));
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  static JoinRequest Request(int rank, int world_size, int segment_fd = -1) {
    JoinRequest request;
    request.rank = rank;
    request.world_size = world_size;
    request.incarnation = Incarnation{RandomNumber()};
    request.addresses = {{"shm", "here"}, {"ucx", std::string("\0\x01\xff", 3)}};
    request.segment_fd = segment_fd;
    return request;
  }

  static Deadline Soon() { return Deadline::After(kPatience); }

  // Before a test's end: agents go, and with them the coordinator.
  void TearDown() override {
    for (auto& agent : agents_) agent->Stop(Soon());
    if (coordinator_.joinable()) {
      // Nobody may ever have joined; then its join deadline ends it.
      ASSERT_TRUE(coordinator_result_.Wait().has_value());
      coordinator_.join();
    }
  }

  std::string job_ = RandomJobId();
  Endpoint endpoint_;
  LogBook coordinator_log_;
  LogBook agent_log_;
  Box<int> coordinator_result_;
  std::thread coordinator_;
  std::vector<std::unique_ptr<AgentBox>> agent_events_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace phalanx::control

#endif  // PHALANX_TESTS_UNIT_CONTROL_JOB_FIXTURE_H_
