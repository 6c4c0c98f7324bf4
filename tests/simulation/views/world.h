// A job's views in virtual time: the real coordinator's core, which is crashed and goes on from its
// record, nodes with agents and processes, and connections that keep the order and break. The same
// options give the same run.
#ifndef PHALANX_TESTS_SIMULATION_VIEWS_WORLD_H_
#define PHALANX_TESTS_SIMULATION_VIEWS_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent.h"
#include "control_coordinator/core.h"
#include "node_time.h"
#include "timeline.h"

namespace phalanx::control::simulation {

// What the shell around the core, or an agent, can get wrong; the simulation must notice.
enum class Broken : uint8_t {
  kNothing,
  kAnnouncesEarly,     // the core is told that a record is durable before it is
  kForgetsRecord,      // a coordinator that comes finds the record before the last
  kEvictedNotAwaited,  // an agent says that an evicted process has ended before it has
  kDeafToNode0,        // neither the coordinator nor a witness hears that it is there
};

enum class FaultKind : uint8_t {
  kKillMember,
  kKillSpare,
  kStop,
  kKillAgent,
  kCrash,
  kCut,
  kFreeze
};

// What a fault may wait for.
enum class Moment : uint8_t { kTime, kProposed, kAnnounced, kRevoked, kFinished };

struct Fault {
  FaultKind kind = FaultKind::kKillMember;
  Moment moment = Moment::kTime;
  int number = 1;           // the how many-th of these moments
  Clock::duration delay{};  // after it, or from the beginning on
};

struct Options {
  uint64_t seed = 1;
  std::vector<AgentPlan> nodes;
  std::vector<Fault> faults;
  Broken broken = Broken::kNothing;
  Timeline::Trace trace;  // a line for each thing that happens
};
// Any mixture.
Options RandomOptions(uint64_t seed);
std::string Describe(const Options& options);

// That nothing fails says little where nothing happens.
struct Tally {
  uint64_t runs = 0;
  uint64_t ended_well = 0;
  uint64_t views = 0;  // after a job's first
  uint64_t killed = 0;
  uint64_t stopped = 0;
  uint64_t evicted = 0;
  uint64_t agents_killed = 0;
  uint64_t cuts = 0;
  uint64_t frozen = 0;         // nodes
  uint64_t nodes_evicted = 0;  // told of, by each coordinator
  uint64_t crashes = 0;
  uint64_t unwritten = 0;  // records that were lost in a crash
  uint64_t promoted = 0;
  uint64_t restarted = 0;
  std::map<std::string, uint64_t> replaced;  // ranks, by the job's policy
};
std::string Describe(const Tally& tally);

class World : private Wires {
 public:
  explicit World(Options options);

  // What went wrong, or nothing.
  std::string Run(Tally* tally);

 private:
  struct Connection {
    int node = 0;
    uint64_t boot = 0;     // of the coordinator at its other end
    bool at_agent = true;  // not closed there yet
    bool at_coordinator = true;
    bool admitted = false;
    Clock::time_point to_agent, to_coordinator;  // when the last message arrives
  };

  void Connect(int node) override;
  void SendToCoordinator(uint64_t connection, const Message& message) override;
  void HangUp(uint64_t id) override { CloseAtCoordinator(id, time_.now() + time_.Up(1'000)); }
  uint64_t NewIncarnation() override { return ++incarnations_; }
  void Probe(int asker, int suspect, Clock::duration wait,
             std::function<void(bool answered)> heard) override;
  void Violate(const std::string& what) override;

  void BootCoordinator();
  void Feed(const CoordinatorInput& input);
  void TickCoordinator(uint64_t boot);
  void Deliver(uint64_t id, const Message& message);
  void Write(const JobRecord& record);
  void CloseAtAgent(uint64_t id, Clock::time_point when);
  void CloseAtCoordinator(uint64_t id, Clock::time_point when);

  void Occur(Moment moment);
  void Perform(const Fault& fault);
  void Crash();
  void KillAgent(Agent& agent);
  void Cut(Agent& agent);
  void Freeze(const Agent& agent);
  Agent* AnyAgent(bool frozen_too);
  std::vector<std::pair<Agent*, uint64_t>> Processes(bool spares) const;
  void LoseBeforeRun();

  void CheckSaid(const Message& message);
  void CheckView(const message::View& view);
  void CheckPlaces(const message::View& view);
  void CheckReplaced(const message::View& view);
  void CheckEvicted(int node);
  void CheckRevoked(const message::Revoked& revoked);
  void CheckOver(const absl::Status& status);
  void CheckFailed(const absl::Status& reason);
  bool IsWhere(uint64_t incarnation, int node) const;
  bool IsEvicted(int node) const {
    return disk_.has_value() && disk_->evicted_nodes.count(node) > 0;
  }
  LossPolicy::Steps Policy() const {
    return options_.nodes.front().settings.on_loss.For(/*can_shrink=*/false);
  }
  bool IsOver() const;
  Clock::duration Patience() const;
  void Trace(const std::string& line) {
    if (time_.traces()) time_.Say(line);
  }

  Options options_;
  Timeline time_;
  std::vector<std::unique_ptr<NodeTime>> times_;  // by node
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<bool> welcomed_;  // by node: it was, once
  std::vector<bool> cut_;       // by node: it has lost a connection to a living coordinator
  std::map<uint64_t, Connection> connections_;
  uint64_t last_connection_ = 0;
  uint64_t incarnations_ = 0;
  std::unique_ptr<CoordinatorCore> core_;  // null while it is down
  uint64_t boot_ = 0;
  std::optional<JobRecord> disk_, disk_before_;
  std::optional<absl::Status> over_;  // the coordinator's end
  Clock::time_point booted_{};
  std::vector<int> moments_ = std::vector<int>(5, 0);
  Clock::time_point disturbed_{};  // the last time
  bool agents_lost_ = false;
  bool lost_before_view_ = false;  // before the first one was
  std::set<uint64_t> in_run_;      // who the coordinator knows to be
  bool outside_of_run_ = false;    // somebody was at a loss
  std::set<uint64_t> evicted_;
  bool forgot_end_ = false;  // a coordinator died that had decided the end
  bool failing_ = false;     // it was said that the job ends
  // By epoch: which coordinator said it, and the incarnations by rank.
  std::map<uint64_t, std::pair<uint64_t, std::vector<uint64_t>>> heard_;
  std::vector<message::Member> last_members_;  // of the newest of them
  bool all_finished_ = false;                  // was heard
  std::string violation_;
  Tally* tally_ = nullptr;
};

// Runs a seed; a failure names it.
std::string JudgeSeed(uint64_t seed, Tally* tally);

}  // namespace phalanx::control::simulation

#endif  // PHALANX_TESTS_SIMULATION_VIEWS_WORLD_H_
