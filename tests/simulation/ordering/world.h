// A whole job in virtual time: ranks with their launch queues and devices, nodes, a sequencer that
// may die, links that delay and repeat. The same program and options give the same run.
#ifndef PHALANX_TESTS_SIMULATION_ORDERING_WORLD_H_
#define PHALANX_TESTS_SIMULATION_ORDERING_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device.h"
#include "ordering/launch_queue.h"
#include "ordering/node_aggregator.h"
#include "ordering/sequencer.h"
#include "program.h"

namespace phalanx::ordering::simulation {

struct Options {
  uint64_t seed = 1;
  bool adaptive = false;
  size_t iterations = 2;               // that make a schedule
  std::optional<Schedule> suggestion;  // certified from the beginning on
  bool certified_path = true;          // issues through TryLaunch
  int crashes = 0;                     // of the sequencer
  double pauses = 0;  // probability that a thread pauses for up to 20 ms between instructions
  uint64_t run_ahead = 256;
  // Probability that an operation's members complete it apart, where they can: a message's sender,
  // a broadcast's root and a reduction's leaves as soon as they are there themselves.
  double early = 0;
  bool goes_on = false;  // after a verdict: hosts see their operations fail, and continue
  std::function<void(const std::string&)> trace;  // a line for each thing that happens
};

struct Result {
  bool completed = false;
  // The first that is more than that a rank is behind; without one, the last.
  std::optional<Explanation> verdict;
  bool waits_for_absent = false;        // at the end, as a verdict has said
  std::vector<std::set<OpName>> ended;  // by rank: what it has completed
  bool finished = false;                // all threads and operations ended, some perhaps aborted
  std::string violation;                // of what must hold whatever the program is
  std::string waits;                    // what was incomplete at the end
  uint64_t tickets = 0;
  uint64_t fences = 0;
  uint64_t certified_launches = 0;  // by speculation
  uint64_t apart = 0;               // completions before all members were there
};

class World {
 public:
  // `program` outlives it.
  World(const Program& program, const Options& options);
  ~World();

  Result Run();

 private:
  struct Host;
  struct Member;
  struct Node;
  struct Link;
  // An operation whose members come together.
  struct Meeting {
    std::set<int> there;  // on these it is resident, or has been
    std::set<int> completing;
    bool early = false;  // some complete without the others
    int64_t duration_ns = 0;
  };
  struct Event {
    int64_t at_ns = 0;
    uint64_t order = 0;
    std::function<void()> what;
    bool operator>(const Event& other) const {
      return std::tie(at_ns, order) > std::tie(other.at_ns, other.order);
    }
  };

  void At(int64_t delay_ns, std::function<void()> what);
  int64_t Random(int64_t low, int64_t high);
  bool Chance(double probability);
  void Deliver(Link* link, int64_t mean_ns, const std::function<void()>& what);

  // Hosts.
  void RunHost(int rank, size_t thread);
  void IssueOne(int rank, Host* host, const Call& call, uint32_t stream, bool beside);
  bool BeginWait(int rank, size_t thread, const Instruction& instruction);
  void WakeHosts(int rank);

  // Cores.
  void Feed(int rank, const QueueInput& input);
  void FeedNode(int node, const NodeInput& input);
  void FeedSequencer(const SequencerInput& input);
  void StartSequencer(uint64_t epoch);
  void Crash();
  void TickRank(int rank);
  void TickNode(int node);

  // Devices.
  void Settle(int rank);
  void Arrive(const OpName& op, int rank);
  bool NeedsNoMore(const Meeting& meeting, const OpName& op, const Signature& signature,
                   int member) const;
  void Complete(int rank, uint64_t id);
  void CheckOrder();

  bool IsOver() const;
  bool IsFinished() const;
  void CheckAborts();
  void Violate(const std::string& what);
  void Trace(const std::function<std::string()>& line);
  std::string NameOf(int rank, uint64_t id) const;

  const Program& program_;
  const Options options_;
  const Roster roster_;
  std::mt19937_64 random_;
  int64_t now_ns_ = 0;
  uint64_t events_made_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Sequencer> sequencer_;
  uint64_t epoch_ = 0;
  std::map<OpName, Meeting> meetings_;
  std::set<OpName> missed_;  // that verdicts say some rank hasn't issued
  Result result_;
};

}  // namespace phalanx::ordering::simulation

#endif  // PHALANX_TESTS_SIMULATION_ORDERING_WORLD_H_
