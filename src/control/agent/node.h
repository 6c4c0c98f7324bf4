// What an agent does, on its one thread: workers on one side, the coordinator on the other.
#ifndef PHALANX_CONTROL_AGENT_NODE_H_
#define PHALANX_CONTROL_AGENT_NODE_H_

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/deadline.h"
#include "control_agent/agent.h"
#include "control_protocol/message.h"
#include "coordinator_link.h"
#include "faults/fault.h"
#include "membership/suspicion.h"
#include "node_checkpoints.h"
#include "node_ordering.h"
#include "worker_connection.h"
#include "worker_watch.h"

namespace phalanx::control {

class Node {
 public:
  // `options.socket_name` is set. `events` and `tls` outlive the node.
  Node(asio::io_context& context, const AgentOptions& options, TlsContext* tls,
       AgentEvents* events);

  // Before the loop runs. ALREADY_EXISTS when the name is taken.
  absl::Status Open();
  // On the loop from here on.
  void Start();
  // Whether the coordinator was told of it as a loss, now or before.
  bool WorkerExited(pid_t pid, const std::string& how);
  void SpareExited(pid_t pid, const std::string& how);
  // The owner has stopped the workers, or has let them go on.
  void SetPaused(bool paused);
  // Flushes to the coordinator within `timeout`; then calls `done`.
  void Finish(Clock::duration timeout, std::function<void()> done);

 private:
  enum class Phase { kJoining, kRunning, kOver };
  enum class State {
    kConnected,  // has said nothing yet
    kJoining,    // the coordinator knows it
    kMember,     // has the view
    kReturning,  // had a view that was revoked, and may join again
    kSpare,      // the coordinator knows it, and it waits for a place
    kNone,       // refused, or has left, or was lost: nobody waits for it
  };
  struct Worker {
    std::shared_ptr<WorkerConnection> connection;  // null once closed
    int pid = 0;
    State state = State::kConnected;
    Incarnation incarnation;
    int rank = -1;  // as a member
    SharedFd segment;
    uint64_t question = 0;                   // its own number of what it asked
    asio::posix::stream_descriptor process;  // pidfd; closed if there was none to be had
    asio::steady_timer exit_timer;           // waits for word of how it ended
    std::optional<std::string> evicted;      // why: nobody listens to it any more
    bool recoverable = false;                // as a member: can take part in another view
    std::optional<message::Join> join;  // while kJoining or kSpare, for a coordinator that comes
  };
  using Workers = std::map<uint64_t, Worker>;

  void Accept();
  void OnAccepted(asio::local::stream_protocol::socket socket);
  static void OpenProcess(Worker& worker);
  void WatchProcess(uint64_t id, Worker& worker);

  void OnWorkerMessage(uint64_t id, Message message);
  void OnJoin(uint64_t id, message::Join join);
  void OnLeave(Worker& worker);
  void OnWorkerClosed(uint64_t id, const absl::Status& status);
  void OnProcessEnded(uint64_t id, const std::string& how);
  void Refuse(Worker& worker, const absl::Status& status);
  void DropWorker(uint64_t id, const std::string& why);
  void ReportLost(Worker& worker, const std::string& how);
  void Forget(uint64_t id);

  void OnAskStatus(uint64_t id, const message::AskStatus& ask);
  void OnJobStatus(const message::JobStatus& status);

  void OnWorkerOrdering(uint64_t id, const message::Ordering& ordering);
  void OnCoordinatorOrdering(const message::Ordering& ordering);
  void OnWorkerCheckpoint(uint64_t id, const message::Checkpoint& message);
  void OnCoordinatorCheckpoint(const message::Checkpoint& message);
  void OnWorkerSteps(const Worker& worker, message::Steps message);
  void OnCoordinatorSteps(const message::Steps& message);
  NodeCheckpoints::Handlers CheckpointHandlers();
  void StartOrdering(const message::View& view);
  void TellWorker(int rank, std::string payload);
  void StartTick();

  void StartWatch();
  void WatchTick(Clock::time_point now);
  void TellAwake(const WorkerWatch::Awake& awake);
  void OnWorkerHeartbeat(uint64_t id);
  void OnFaultPerformed(uint64_t id, const message::FaultPerformed& fault);
  void ContinueLater(uint64_t id, Clock::duration delay, int tries);
  void OnWelcome(const message::AgentWelcome& welcome);
  void HearCoordinator();
  void OnEvict(const message::Evict& evict);
  void OnAskWitness(const message::AskWitness& ask);
  void KillWorkers();
  void OnSuffer(const message::Suffer& suffer);
  void StopNode(Clock::duration duration);
  void SufferByProcess(const faults::Fault& fault, Incarnation incarnation);
  [[noreturn]] void Die(bool with_workers);
  void OnStartSpare(const message::StartSpare& start);

  void OnCoordinatorMessage(const Message& message);
  void OnCoordinatorLost(const absl::Status& status);
  std::optional<message::AgentHello> OnCoordinatorInterrupted(const absl::Status& status);
  message::AgentHello Hello() const;
  void SayAlways(const Message& message);
  void OnRefused(const message::Refused& refused);
  void OnCommunicatorIds(const message::CommunicatorIds& ids);
  void OnSpareAccepted(const message::SpareAccepted& accepted);
  void OnAllFinished(const message::AllFinished& finished);
  void OnView(const message::View& view);
  void SendSegments(const std::vector<std::pair<int, Worker*>>& local);
  void OnRevoked(const message::Revoked& revoked);
  void AwaitNextView(const message::Revoked& revoked);
  void LeaveView();
  void Revoke(Worker& worker, const absl::Status& reason);
  // By the coordinator: its end would be a loss.
  static bool IsAwaited(const Worker& worker);
  void OnAllLeft(const message::AllLeft& left);
  void TellJoining(const Message& message);
  void EndJob(const absl::Status& status);
  void CheckDeserted();

  asio::io_context& context_;
  const AgentOptions options_;
  AgentEvents* const events_;
  asio::local::stream_protocol::acceptor acceptor_;
  CoordinatorLink link_;
  asio::steady_timer idle_timer_;
  Phase phase_ = Phase::kJoining;
  int node_ = -1;
  Epoch epoch_;
  absl::Status over_;  // in kOver: how it ended
  bool coordinator_lost_ = false;
  bool all_finished_ = false;        // in this view
  bool failures_unsettled_ = false;  // no view since the coordinator was lost
  int spares_to_come_ = 0;           // that haven't joined
  int restarts_left_ = 0;
  std::set<pid_t> joined_spares_;  // and haven't ended
  // About this view's members; a coordinator that comes may not know it.
  std::vector<Message> said_;
  bool joins_seen_ = false;
  bool deserted_ = false;
  std::function<void()> done_;
  Workers workers_;
  std::map<int, uint64_t> worker_of_rank_;  // of the view; the worker may be gone
  std::unique_ptr<NodeOrdering> ordering_;  // while the job runs and is ordered
  NodeCheckpoints checkpoints_;
  asio::steady_timer tick_timer_;
  bool ticking_ = false;
  asio::steady_timer watch_timer_;
  WorkerWatch watch_{StateOf};
  membership::Suspicion coordinator_silence_;
  bool welcomed_ = false;
  bool paused_ = false;
  uint64_t last_id_ = 0;
  // Ends that the owner told before the connection did.
  std::map<int, std::string> exits_;
  // Of the owner's processes: reported as lost, and their end not yet told.
  std::set<int> lost_pids_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_AGENT_NODE_H_
