// Voters with disks and proposers with clients, in virtual time, over links that lose, repeat and
// reorder, with faults. The same options give the same run.
#ifndef PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_H_
#define PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_H_

#include <cstdint>
#include <deque>
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

#include "history.h"
#include "membership/proposer.h"
#include "membership/voter.h"

namespace phalanx::membership::simulation {

// What a shell can get wrong; the simulation must notice.
enum class Broken : uint8_t {
  kNothing,
  kEmptyVoterVotes,   // a wiped log is begun again under the name of the lost one
  kAnswerBeforeDisk,  // states are acknowledged before they are on the disk
  kSmallQuorum,       // each answer counts for a second voter that hasn't given it: n/2 are enough
};

struct Options {
  uint64_t seed = 1;
  int voters = 3;
  int spares = 1;  // nodes with a log that aren't voters at first
  int proposers = 2;
  int requests = 8;  // of each proposer's client
  double lost = 0;   // probability that a message is
  double repeated = 0;
  double late = 0;  // probability that a message takes up to half a second
  int faults = 0;
  bool wipes = false;       // are among the faults
  double dies_writing = 0;  // probability that a voter dies while it writes a state
  Broken broken = Broken::kNothing;
  std::function<void(const std::string&)> trace;  // a line for each thing that happens
};
// Any mixture.
Options RandomOptions(uint64_t seed);
std::string Describe(const Options& options);

// That nothing fails says little where nothing happens.
struct Tally {
  uint64_t runs = 0;
  uint64_t reads = 0;     // that were answered
  uint64_t changes = 0;   // that were made
  uint64_t replaced = 0;  // voter sets, completely
  uint64_t conflicts = 0;
  uint64_t unknown = 0;
  uint64_t crashes = 0;    // of voters
  uint64_t unwritten = 0;  // states that were lost on their way to the disk
  uint64_t wipes = 0;
  uint64_t strangers = 0;  // questions to a log that is gone
  uint64_t freezes = 0;
  uint64_t cuts = 0;
  uint64_t alive = 0;  // runs at whose end a quorum was there, and went on
};
std::string Describe(const Tally& tally);

class World {
 public:
  explicit World(const Options& options);
  ~World();

  // What went wrong, or nothing.
  std::string Run(Tally* tally);

 private:
  struct Node;    // a voter's process and disk
  struct Client;  // a proposer's process
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
  void RunUntil(const std::function<bool()>& is_over);
  void Violate(const std::string& what);
  void Trace(const std::function<std::string()>& line);

  // Processes are numbered: nodes first, then clients.
  void Travel(int from, int to, const std::function<void()>& deliver);
  void SendToVoter(int client, const ToVoter& message);
  void SendToProposer(int node, int client, const ToProposer& message);

  void Boot(int node);
  void FeedVoter(int node, const VoterInput& input);
  void Write(int node, const Persist& persist);
  void Written(int node, const Persist& persist);

  void StartLife(int client, RecordPtr known);
  void FeedProposer(int client, const ProposerInput& input);
  void Call(int client, const Request& request, int64_t deadline_ns);
  void Ended(int client, const Outcome& outcome);
  void NextCall(int client);
  Request RandomRequest(const Record& known);
  std::set<VoterId> RandomReplacement(const VoterSets& voters);

  // world_faults.cc
  void Fault();
  void CrashNode(int node, bool wipe);
  void CrashClient(int client);
  void Freeze(int process);
  void Thaw(int process);
  void Cut();
  void Quiet();
  bool CanGoOn() const;
  void CheckGoesOn();
  bool GoesOn(int client, bool* leftover);

  const Options options_;
  std::mt19937_64 random_;
  int64_t now_ns_ = 0;
  uint64_t events_made_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<VoterId, int> homes_;  // node of each log that ever was
  std::set<std::pair<int, int>> cut_;
  bool quiet_ = false;
  uint64_t next_voter_ = 1;
  uint64_t next_proposer_ = 101;
  uint64_t next_value_ = 1;
  RecordPtr genesis_;
  std::unique_ptr<History> history_;
  std::string violation_;
  Tally* tally_ = nullptr;
};

// Runs a seed; a failure names it.
std::string JudgeSeed(uint64_t seed, Tally* tally);

}  // namespace phalanx::membership::simulation

#endif  // PHALANX_TESTS_SIMULATION_MEMBERSHIP_WORLD_H_
