// Nodes, each with a voter, the core that says whom it follows, and perhaps a coordinator's
// process, in virtual time, over links that lose, repeat and reorder, with faults. The same options
// give the same run.
//
// The coordinator here is the least that the core expects of one: it claims the record if that
// still names the one that it replaces, gives orders while a majority of the voters confirms it
// within the lease, settles what somebody left half done, and ends when it is superseded.
#ifndef PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_H_
#define PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_H_

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

#include "judge.h"
#include "membership/proposer.h"
#include "membership/succession.h"
#include "membership/voter.h"

namespace phalanx::membership::simulation {

// What a shell can get wrong; the simulation must notice.
enum class Broken : uint8_t {
  kNothing,
  kOneVoterIsEnough,     // each voter's answer counts for all of them
  kComparesProposers,    // ballots are ordered by their proposers before their rounds
  kAnswersAreNews,       // an answer counts from when it comes, not from when it was asked for
  kOrdersWithoutALease,  // a coordinator doesn't look whether it is confirmed
  kClaimsInAnyCase,      // a coordinator claims the record whomever that names
};

struct Options {
  uint64_t seed = 1;
  int nodes = 4;
  int voters = 3;   // on the first nodes
  double lost = 0;  // probability that a message is
  double repeated = 0;
  double late = 0;  // probability that a message takes up to two seconds
  int faults = 0;
  bool writes = true;  // coordinators write now and then
  // At the end, as many nodes of voters as can be missed, and one without, are gone or cut off.
  enum class End : uint8_t { kAllAreWell, kSomeAreGone, kSomeAreCutOff } end = End::kAllAreWell;
  Broken broken = Broken::kNothing;
  std::function<void(const std::string&)> trace;  // a line for each thing that happens
};
// Any mixture.
Options RandomOptions(uint64_t seed);
std::string Describe(const Options& options);

// That nothing fails says little where nothing happens.
struct Tally {
  uint64_t runs = 0;
  uint64_t started = 0;     // coordinators
  uint64_t claimed = 0;     // by them
  uint64_t superseded = 0;  // lived on when another was claimed
  uint64_t orders = 0;      // taken
  uint64_t refused = 0;     // of coordinators that a node doesn't follow
  uint64_t held = 0;        // not given for want of a lease
  uint64_t pauses = 0;
  uint64_t crashes = 0;  // of nodes and agents
  uint64_t coordinator_crashes = 0;
  uint64_t freezes = 0;
  uint64_t cuts = 0;
  uint64_t took_ms = 0;  // all together, from the last fault until all follow one
  uint64_t longest_ms = 0;
};
std::string Describe(const Tally& tally);

class World {
 public:
  explicit World(const Options& options);
  ~World();

  // What went wrong, or nothing.
  std::string Run(Tally* tally);

 private:
  struct Process;
  struct Leader;  // a coordinator's process
  struct Node;
  struct Event {
    int64_t at_ns = 0;
    uint64_t order = 0;
    std::function<void()> what;
    bool operator>(const Event& other) const {
      return std::tie(at_ns, order) > std::tie(other.at_ns, other.order);
    }
  };
  // Who asks voters: a node's agent in one of its lives, or its coordinator.
  struct Asker {
    int node = 0;
    uint64_t boot = 0;
    ProposerId life;  // 0: the agent
  };

  void At(int64_t delay_ns, std::function<void()> what);
  int64_t Random(int64_t low, int64_t high);
  bool Chance(double probability);
  void RunUntil(int64_t end_ns, const std::function<bool()>& is_over);
  void Violate(const std::string& what);  // nothing: all is well
  void Trace(const std::function<std::string()>& line);
  Clock::time_point Now() const { return Clock::time_point(std::chrono::nanoseconds(now_ns_)); }

  // Links and processes.
  void Travel(int from, int to, const std::function<void()>& deliver);
  Node& At(int node) { return *nodes_[static_cast<size_t>(node)]; }
  Leader* Find(int node, ProposerId life);
  void InAgent(int node, uint64_t boot, const std::function<void()>& what);  // boot 0: in any
  void InLeader(int node, ProposerId life, const std::function<void()>& what);

  // An agent: world.cc.
  void Boot(int node);
  void Feed(int node, const SuccessionInput& input);
  void Perform(int node, const SuccessionOutput& output);
  void Connect(int node);
  void FromLeader(int node, ProposerId life, bool order);
  void Ask(const Asker& asker, const std::set<VoterId>& voters, uint64_t question);
  void Told(const Asker& asker, LeadTold answer);
  void FeedVoter(int node, const VoterInput& input);  // links are named after coordinators' lives
  void Write(int node, const Persist& persist);
  Lead LeadOf(const Ballot& ballot, const Record& record) const;
  Lead Followed(int node);

  // A coordinator: leader.cc.
  void StartLeader(int node, const StartCoordinator& start);
  void Begin(Leader* leader, const Request& request);
  void FeedProposer(Leader* leader, const ProposerInput& input);
  void Ended(Leader* leader, const Outcome& outcome);
  void Beat(Leader* leader);
  void LookAtVoters(Leader* leader);
  void EndLeader(int node, ProposerId life, const std::string& why);

  // faults.cc
  void Fault();
  void CrashNode(int node, bool whole);
  void Freeze(int node, bool agent, bool leader);
  void Thaw(const std::shared_ptr<Process>& process);
  void Cut();
  void CutOff(const std::set<int>& side, int64_t heals_after_ns);
  void Quiet();
  std::set<int> ChooseTheMissed();
  int64_t BoundNs() const;
  bool AllFollowOne();
  void CheckTheEnd();

  const Options options_;
  std::mt19937_64 random_;
  const SuccessionTiming timing_;
  int64_t now_ns_ = 0;
  uint64_t events_made_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::map<ProposerId, int> homes_;  // node of each coordinator that ever was
  std::multiset<std::pair<int, int>> cut_;
  bool quiet_ = false;
  std::set<int> missed_;  // at the end
  std::set<int> gone_;    // of them, and don't come back
  uint64_t boots_ = 0;
  Lead formed_;
  RecordPtr genesis_;
  Judge judge_;
  std::string violation_;
  Tally* tally_ = nullptr;
};

// Runs a seed; a failure names it.
std::string JudgeSeed(uint64_t seed, Tally* tally);

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_SUCCESSION_WORLD_H_
