// Which operation of a rank may be launched now. Pure: no clock, no threads; the same inputs give
// the same outputs.
//
// One queue for each rank and its device; the shell serialises the calls and performs the outputs
// in their order. Streams, threads and lanes are small indices, so that tables are arrays.
#ifndef PHALANX_ORDERING_LAUNCH_QUEUE_H_
#define PHALANX_ORDERING_LAUNCH_QUEUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ordering/certified_run.h"
#include "ordering/messages.h"
#include "ordering/slots.h"

namespace phalanx::ordering {

// What can happen. `id` is the shell's name for one issue of an operation: from 1, rising.
struct Issue {
  uint64_t id = 0;
  uint32_t lane = 0;  // of LaunchQueue::LaneOf
  Signature signature;
  uint32_t stream = 0;
  bool beside = false;    // one unit with the operation before it on the stream: a part of a group,
                          // or a send or receive whose buffers are disjoint from its neighbour's
  std::string call_site;  // empty when unknown, or when the shell fills it in: see OpView
};
// The stream has reached the operation: all units before it on the stream are complete.
struct Reached {
  uint64_t id = 0;
};
struct Completed {
  uint64_t id = 0;
};
// A thread that has used the library waits for these operations, or for everything on the device.
struct HostWaits {
  uint32_t thread = 0;
  std::vector<uint64_t> ids;
  bool device_wide = false;
  bool holds_device = false;  // nobody can launch before it is over
};
struct HostGoesOn {
  uint32_t thread = 0;  // also: a new one
};
struct HostEnds {
  uint32_t thread = 0;
};
struct FromNode {
  Order order;
};
struct Tick {};
using QueueInput =
    std::variant<Issue, Reached, Completed, HostWaits, HostGoesOn, HostEnds, FromNode, Tick>;

// What is to be done.
struct Launch {
  uint64_t id = 0;
  // On the caller's own stream, even if that hasn't reached it. Otherwise on a stream of the
  // engine's, since the caller's holds a wait in the operation's place.
  bool on_user_stream = false;
  bool by_ticket = false;  // otherwise by schedule
};
struct ToNode {
  Report report;
};
struct Failed {
  uint64_t id = 0;
  std::shared_ptr<const Explanation> explanation;
};
struct Explained {  // to all ranks, also those that aren't concerned
  std::shared_ptr<const Explanation> explanation;
};
using QueueOutput = std::variant<Launch, ToNode, Failed, Explained>;

struct QueueSettings {
  int rank = 0;
  int slots = 1;  // collectives that the device can hold at once
  // Certified: an operation that is present for so long is reported; sooner if this rank hasn't
  // even issued what stands before it in the schedule, which a peer's pause doesn't cause.
  int64_t report_ns = 50'000'000;
  int64_t report_early_ns = 2'000'000;
  int64_t stall_ns = 100'000'000;  // no progress for so long asks for an explanation
  uint64_t run_ahead = 256;        // soft: see MustWait
};

class LaunchQueue {
 public:
  explicit LaunchQueue(const QueueSettings& settings)
      : settings_(settings), slots_(settings.slots) {}

  // Call with Tick about a hundred times a second.
  std::vector<QueueOutput> Step(const QueueInput& input, int64_t now_ns);

  // The index of a lane; made when first asked for.
  uint32_t LaneOf(const Lane& lane);

  // The certified path, in place of Step(Issue): if this is the next operation of the schedule, it
  // is launched now, on its own stream, and named by the position in return; else kNotLaunched, and
  // Step() is to be called. Not for operations beside others.
  int64_t TryLaunch(uint32_t lane, uint64_t signature_hash, uint32_t stream, uint64_t id) {
    if (!fast_ || stream >= streams_.size()) return CertifiedRun::kNotLaunched;
    LaneState& state = lanes_[lane];
    uint64_t& unit = streams_[stream].unit;
    const CertifiedRun::Record record{id, state.next, unit + 1, lane, stream};
    const int64_t position = run_.Launch(record, signature_hash, &slots_);
    if (position != CertifiedRun::kNotLaunched) {
      ++unit;
      ++state.next;
      ++state.cursor;
    }
    return position;
  }
  // In place of Step(Reached) and Step(Completed) for such a one; false if Step() must be called
  // with its id after all.
  bool ReachLaunched(int64_t position);
  bool CompleteLaunched(int64_t position);

  // An enqueue beyond the run-ahead bound should wait a moment and ask again. Never for ever: a
  // bound that never yields deadlocks ranks that issue long runs in opposite orders.
  bool MustWait(int64_t now_ns);

  Term term() const { return term_; }
  bool certified() const { return certified_; }
  // Something is early: it waits for what stands before it in the schedule and isn't issued yet.
  // Then Tick should come each millisecond.
  bool is_early() const {
    if (!certified_ || unlaunched_ == 0 || !run_.has_entries()) return false;
    const LaneState& lane = lanes_[run_.next().lane];
    return lane.cursor == lane.next;
  }

 private:
  struct LaneState {
    Lane lane;
    uint64_t next = 0;     // sequence of the operation that is issued next
    bool buffers = false;  // members complete some of its operations apart
    // While certified and scheduled:
    bool scheduled = false;
    uint64_t base = 0;             // sequence of the schedule's first
    uint64_t first = 0;            // of those that the schedule itself launched, without a gap
    uint64_t cursor = 0;           // sequence of its next entry that isn't passed
    std::vector<uint64_t> hashes;  // of its entries in one round
    std::vector<Passed::Launched> launched;  // by schedules before that, if the lane buffers
  };
  struct Op {
    uint64_t id = 0;
    OpName name;
    uint32_t lane = 0;
    Signature signature;
    uint32_t stream = 0;
    uint64_t unit = 0;
    bool beside = false;
    int64_t issued_ns = 0;
    bool present = false;
    int64_t present_since_ns = 0;
    bool launched = false;
    bool speculative = false;  // launched without a ticket
    bool ticketed = false;
    TicketNumber number;              // if ticketed
    bool reported = false;            // Present was sent in this term
    bool launched_into_hold = false;  // while a device-wide wait held launches back
    std::string call_site;
  };
  struct ThreadState {
    ThreadView::State state = ThreadView::State::kOutside;
    HostWaits waits;
  };
  struct StreamState {
    uint64_t unit = 0;
    std::deque<uint64_t> unlaunched;
  };

  void Handle(const Issue& issue);
  void Handle(const Reached& reached);
  void Handle(const Completed& completed);
  void Handle(const HostWaits& waits);
  void Handle(const HostGoesOn& thread);
  void Handle(const HostEnds& thread);
  void Handle(const FromNode& from);
  void Handle(const Tick& tick);

  void On(const Ticket& ticket);
  void On(const Certify& certify);
  void On(const Fence& fence);
  void On(const Question& question);
  void On(const Resume& resume);
  void On(const AskSnapshot& ask);
  void On(const Verdict& verdict);

  // Launches whatever may be launched.
  void Advance();
  void AdvanceTickets();
  void AdvanceSchedule();
  bool PassesEntry();
  bool IsFirstUnlaunched(const Op& op) const;
  void LaunchOp(Op* op, bool speculative);
  void Forget(uint64_t id);

  bool Refuse(const Issue& issue);
  void CheckForeseen(const Op& op);
  void EnterAnnounced();
  void Spill();
  void ReportPresent(Op* op);
  void KeepLaunched(uint32_t lane);
  void ReportPassed();
  void ReportClear();
  void ReportLongPresent();
  void ReportStall();
  void Send(ReportBody body);

  bool IsOverdue(const Op& op) const;
  bool HasOverdue() const;
  Op* Find(const OpName& name);
  bool DeviceIsHeld() const;
  RankSnapshot TakeSnapshot();
  uint64_t progress() const { return progress_ + run_.launched() + run_completions_; }

  const QueueSettings settings_;
  int64_t now_ns_ = 0;
  Term term_;
  bool certified_ = false;
  bool diverged_ = false;
  bool clear_sent_ = true;  // a queue begins with nothing launched, and its node knows
  bool fast_ = false;       // TryLaunch() may launch
  Slots slots_;
  CertifiedRun run_;
  std::vector<LaneState> lanes_;
  uint64_t ahead_ = 0;       // certified: operations issued in scheduled lanes beyond their cursors
  uint64_t unlaunched_ = 0;  // operations issued and not launched
  std::map<uint64_t, Op> ops_;  // incomplete, by id: in the order of issue; without those in run_
  absl::flat_hash_map<OpName, uint64_t> ids_;  // of ops_
  absl::flat_hash_map<Lane, uint32_t> lane_indices_;
  std::vector<std::shared_ptr<const Explanation>> verdicts_;
  absl::flat_hash_map<OpName, std::shared_ptr<const Explanation>> refused_;  // by a verdict
  std::vector<StreamState> streams_;
  std::deque<Ticket> tickets_;  // whose turn hasn't come
  uint64_t tickets_open_ = 0;   // ticketed operations that are incomplete
  uint64_t tickets_seen_ = 0;
  TicketNumber last_ticket_;                 // of those that came since Resume
  uint64_t issuing_ = 0;                     // id of the operation whose Step(Issue) this is, or 0
  std::map<uint32_t, ThreadState> threads_;  // those that have used the library
  uint64_t progress_ = 0;
  uint64_t run_completions_ = 0;
  uint64_t seen_progress_ = 0;  // at progress_since_ns_
  int64_t progress_since_ns_ = 0;
  int64_t stalled_ns_ = 0;           // when it was said last
  uint64_t must_wait_progress_ = 0;  // as MustWait() saw it at must_wait_since_ns_
  int64_t must_wait_since_ns_ = 0;
  uint64_t marked_position_ = 0;  // of run_ at marked_ns_
  int64_t marked_ns_ = 0;
  std::vector<QueueOutput> outputs_;
};

}  // namespace phalanx::ordering

#endif  // PHALANX_ORDERING_LAUNCH_QUEUE_H_
