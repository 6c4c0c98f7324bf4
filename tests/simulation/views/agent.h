// A node of the simulation: processes, and an agent that does what src/control/agent does about
// views (its class Node), without sockets.
#ifndef PHALANX_TESTS_SIMULATION_VIEWS_AGENT_H_
#define PHALANX_TESTS_SIMULATION_VIEWS_AGENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control_protocol/message.h"
#include "node_time.h"

namespace phalanx::control::simulation {

// What an agent has from the world around it.
class Wires {
 public:
  virtual ~Wires() = default;
  // Answered with Opened(), or with NoSuccessor() when the coordinator has ended its job.
  virtual void Connect(int node) = 0;
  virtual void SendToCoordinator(uint64_t connection, const Message& message) = 0;
  // Once its job is over and its processes have ended.
  virtual void HangUp(uint64_t connection) = 0;
  virtual uint64_t NewIncarnation() = 0;
  // Whether the agent of `suspect` answers within that time.
  virtual void Probe(int asker, int suspect, Clock::duration wait,
                     std::function<void(bool answered)> heard) = 0;
  virtual void Violate(const std::string& what) = 0;
};

struct AgentPlan {
  int node = 0;
  std::vector<int> ranks;  // of the workers that it starts
  int world_size = 0;
  int spares = 0;
  int restarts = 0;
  JobSettings settings;  // the same on all nodes
  Clock::duration starts_after{};
  bool is_watched = false;    // says that it is there, and can be asked
  bool evicts_early = false;  // broken: says that the evicted has ended before it has
};

class Agent {
 public:
  enum class Phase { kJoining, kRunning, kOver };
  // As the agent sees a process; see Node::State.
  enum class State { kStarting, kJoining, kMember, kReturning, kSpare, kNone };
  struct Process {
    uint64_t incarnation = 0;
    State state = State::kStarting;
    int rank = -1;  // as a member, or as it was started
    bool spare = false;
    bool recoverable = false;  // so its agent thinks
    bool evicted = false;
    std::optional<message::Join> join;
    // The process itself.
    bool alive = true;
    bool stopped = false;
    Clock::time_point stopped_until{};  // the newest stop
    bool said_silent = false;
    bool in_run = false;
    bool must_rejoin = false;
    bool leaving = false;
    Epoch view;                              // it works in; 0: none
    std::deque<std::function<void()>> held;  // while it is stopped
    Clock::time_point to_agent, to_process;  // when the last message arrives
  };

  Agent(NodeTime* time, Wires* wires, AgentPlan plan);

  void Start();
  // Of a connection to the coordinator.
  void Opened(uint64_t connection);
  void Receive(const Message& message);
  void Closed();
  void NoSuccessor();

  // Faults.
  void Die();
  void Kill(uint64_t incarnation);
  void Stop(uint64_t incarnation, Clock::duration duration);

  const std::map<uint64_t, Process>& processes() const { return processes_; }
  static bool IsAwaited(const Process& process);
  bool alive() const { return alive_; }
  Phase phase() const { return phase_; }
  const absl::Status& over() const { return over_; }
  bool came() const { return came_; }  // to the coordinator, once
  uint64_t connection() const { return connection_; }
  int node() const { return plan_.node; }

 private:
  // The process's side.
  Process* Living(uint64_t incarnation);
  void Act(uint64_t incarnation, Clock::duration delay, std::function<void(Process&)> what);
  void Do(uint64_t incarnation, std::function<void(Process&)> what);
  void SayToAgent(Process& process, Message message);
  void Exit(uint64_t incarnation);
  void Hear(Process& process, const Message& message);
  void Work(Process& process, Epoch view);
  void Leave(Process& process);
  void Rejoin(Process& process);
  void StartProcess(int rank, bool spare);
  void Continue(uint64_t incarnation);
  void Watch(uint64_t incarnation);

  // The agent's side.
  void Tell(Process& process, Message message);
  void Send(const Message& message);
  void SayAlways(const Message& message);
  message::AgentHello Hello() const;
  void OnProcess(uint64_t incarnation, const Message& message);
  void OnEnded(uint64_t incarnation);
  void ReportLost(Process& process, const std::string& how);
  void OnView(const message::View& view);
  void OnRevoked(const message::Revoked& revoked);
  void OnRefused(const message::Refused& refused);
  void OnEvict(const message::Evict& evict);
  void OnAskWitness(const message::AskWitness& ask);
  void SayThatItIsThere();
  void OnStartSpare(const message::StartSpare& start);
  void RevokeView(const absl::Status& reason);
  void EndJob(const absl::Status& status);
  std::string Name(const Process& process) const;

  NodeTime* const time_;
  Wires* const wires_;
  const AgentPlan plan_;
  bool alive_ = true;
  Phase phase_ = Phase::kJoining;
  absl::Status over_;
  Epoch epoch_;
  uint64_t connection_ = 0;  // 0: none
  bool came_ = false;
  bool returns_ = false;
  bool all_finished_ = false;
  int spares_to_come_ = 0;
  int restarts_left_ = 0;
  std::vector<Message> said_;
  std::vector<Message> queued_;
  message::AgentHello hello_;
  std::map<uint64_t, Process> processes_;
};

}  // namespace phalanx::control::simulation

#endif  // PHALANX_TESTS_SIMULATION_VIEWS_AGENT_H_
