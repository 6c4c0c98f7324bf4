// One communicator's operations: their queue, the progress token, and the loop that runs them.
//
// Threads: whoever holds the progress token owns everything here but the inbox and the counters. An
// issuing or waiting thread takes the token when it is free and does the work itself; otherwise it
// leaves the operation in the inbox, or parks until the holder has finished it. The engine's thread
// is the holder of last resort, for operations that nobody waits for.
#ifndef PHALANX_ENGINE_CHANNEL_H_
#define PHALANX_ENGINE_CHANNEL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "engine/key_table.h"
#include "engine/operation.h"
#include "engine/operation_list.h"
#include "engine/request.h"
#include "engine/signature.h"
#include "plan/planner.h"
#include "spi/group.h"
#include "spi/link.h"

namespace phalanx::engine {

class Engine;
class PlanCache;

struct ChannelConfig {
  CommunicatorId id;
  std::vector<int> ranks;  // of the members in the view, in the communicator's order
  plan::Group group;       // as the planner sees it; group.rank is ours
  std::unique_ptr<spi::GroupTransport> transport;  // if group.shares_memory
};

class Channel final : public spi::TransferListener, public OperationOwner {
 public:
  // `engine` outlives the channel.
  Channel(ChannelConfig config, Engine* engine);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  CommunicatorId id() const { return config_.id; }
  const std::vector<int>& ranks() const { return config_.ranks; }
  const plan::Group& group() const { return config_.group; }

  // Whose operations belong together; for Request::key. Any thread. See KeyTable::Find().
  absl::StatusOr<KeyedLane*> LaneOfKey(std::string_view key) { return keys_.Find(key); }

  // Starts `request`, whose arguments have been checked. The result carries one reference for the
  // caller. Any thread.
  Operation* Issue(const Request& request);

  // The launch gate's answers, from any thread, between its Issued() and Ended(): the operation may
  // start; or it never will, and ends with `why`. Refusing what has started ends the view.
  void Launch(Operation* operation);
  void Refuse(Operation* operation, const absl::Status& why);

  // OperationOwner
  absl::Status Wait(Operation* operation, Deadline deadline) override;
  bool Poll(Operation* operation) override;

  // Ends every operation, now and later, with `status`, once nothing touches its buffers any more.
  // Any thread; the engine's thread does the work. The first status stays.
  void Abort(const absl::Status& status);

  // The engine thread's turn: does what can be done, and blocks for at most `patience` for more if
  // the operations wait for it. True if anything moved.
  bool Drive(Clock::duration patience);

  // Operations issued and not yet done, by any thread.
  int64_t pending() const { return pending_.load(std::memory_order_seq_cst); }
  // No operation is in flight and no handle refers to one, so that nobody can be inside the
  // channel.
  bool quiescent() const { return pending() == 0 && pool_->live() == 0; }
  // Rises with every operation that is done.
  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  // A caller is waiting and does, or will do, the work.
  bool attended() const { return waiters_.load(std::memory_order_seq_cst) > 0; }
  // The engine found an operation that nobody drove: don't count on the caller to wait at once.
  void ForgetHabit() { inline_habit_.store(0, std::memory_order_relaxed); }

  // A transfer of ours was finished, perhaps by another thread's progress.
  void Signal() override;

 private:
  enum class RunState { kComplete, kMoved, kBlocked };

  class LongWait;

  bool TryTakeToken() {
    return !token_.load(std::memory_order_relaxed) &&
           !token_.exchange(true, std::memory_order_seq_cst);
  }
  void GiveToken();
  void SettleFinished(Operation* finished);

  void Append(Operation* operation);
  void DrainInbox();
  absl::Status AttachStream(Operation* operation);
  bool Advance();
  bool AdvanceSequence(OperationList* operations);
  bool AdvanceKeyed();
  bool AdvanceMessages();
  bool Enqueue(Operation* operation);
  void Announce(Operation* operation, bool is_next);
  void Number(Operation* operation);
  bool IsToSelf(const Operation& operation) const;
  bool IsNext(const Operation& operation) const;
  bool MayLaunch(Operation* operation);
  bool WaitsInLane(const Operation& operation);
  uint32_t* LaneMemory(const Operation& operation);
  absl::Status EndOf(const Operation& operation);
  RunState Run(Operation* operation);
  absl::Status Start(Operation* operation);
  uint32_t CheckOf(const Request& request, uint64_t signature);
  RunState RunAborted(Operation* operation);
  void Finish(Operation* operation, absl::Status status);
  void WaitForProgress(Clock::duration patience);
  bool RunUntilDone(Operation* operation, Deadline deadline, LongWait* wait);
  bool ParkUntilDone(Operation* operation, Deadline deadline, LongWait* wait);
  void WakeParked();
  void MatchMessagesToSelf();
  absl::Status abort_status();
  absl::Status Overdue(const Operation& operation, bool holds_token);

  const ChannelConfig config_;
  Engine* const engine_;
  OperationPool* const pool_;
  KeyTable keys_;

  std::atomic<bool> token_{false};
  std::atomic<int64_t> pending_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<int> waiters_{0};
  // How many operations in a row were waited for at once: the caller's habit, by which Issue()
  // decides whether to wake the engine at once or to leave the operation to the coming Wait().
  std::atomic<int> inline_habit_{0};

  // Held from an operation's number to its place in a list or in the inbox, where there is a gate.
  SpinLock issue_lock_;
  // Numbers of the operations that come next: the token holder's, with a gate issue_lock_'s. Those
  // of keyed lanes belong to the same.
  uint64_t collective_sequence_ = 0;
  std::vector<uint64_t> send_sequence_;     // by peer
  std::vector<uint64_t> receive_sequence_;  // by peer
  std::mutex inbox_mutex_;
  OperationList inbox_;
  std::atomic<bool> inbox_filled_{false};

  // Waiters without the token, and a holder whose operations wait for a stream, park here.
  std::mutex parking_mutex_;
  std::condition_variable parking_;
  std::atomic<int> parked_{0};

  std::mutex abort_mutex_;
  absl::Status abort_status_;
  std::atomic<bool> aborted_{false};

  // The holder is blocked inside this wire; null otherwise.
  std::atomic<spi::Wire*> parked_in_{nullptr};
  // Something happened that the holder may not have seen yet.
  std::atomic<bool> signalled_{false};

  // The token holder's.
  const std::unique_ptr<PlanCache> plans_;
  OperationList collectives_;           // run one after the other
  std::vector<KeyedLane*> busy_lanes_;  // that have operations; run side by side
  OperationList messages_;              // run side by side
  OperationList sends_to_self_;
  OperationList receives_from_self_;
  Operation* finished_ = nullptr;  // have callbacks to run once the token is given
  History collective_history_;     // of those that have started
  uint64_t group_sequence_ = 0;
  // The launch gate's numbers of our lanes, if there is one: of the collectives, then of messages
  // to each peer, then of those from each.
  std::vector<uint32_t> lanes_;
  std::vector<bool> lane_busy_;    // while AdvanceMessages() looks at them
  std::vector<spi::Link*> links_;  // by group rank; null until first used
  int running_on_links_ = 0;
  int idle_turns_ = 0;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_CHANNEL_H_
